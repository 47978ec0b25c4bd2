"""``/api/v1/statistics``, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypedDict

import msgspec
from sqlalchemy import Connection
from twisted.internet.defer import Deferred

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import JSON, Answer, json_answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described, impossible
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring import statistics_store as store
from ctfd_twisted.scoring.matrix_store import ProgressMatrix, progression_matrix
from ctfd_twisted.scoring.tables import submissions

_ALL: Final = "/api/v1/statistics"
P = ParamSpec("P")


class NoUserColumn(TypedDict):
    """There is no such column of users."""

    success: Literal[False]
    message: str


class NoSubmissionColumn(TypedDict):
    """There is no such column of submissions."""

    success: Literal[False]
    errors: str


class Aggregate(msgspec.Struct, frozen=True):
    """What is counted or added up: ``function`` is ``count`` or ``sum``, ``target`` a column (``category``)."""

    function: str | None = None
    target: str | None = None


_NO_FUNCTION: Final = (impossible("The function is neither count nor sum."),)


def _no_column(kind: Any) -> Described:
    return Described(404, JSON, kind, "There is no such column, or nobody sees it.")


class StatisticsApi:
    """Numbers about the competition, as they are now: nothing is kept, and no freeze applies."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(f"{_ALL}/users", ADMIN, data=store.UserCounts)
    async def users(self, call: Call) -> Answer:
        """How many users there are."""
        del call
        return await self._read(store.count_users)

    @routes.get(f"{_ALL}/teams", ADMIN, data=store.TeamCounts)
    async def teams(self, call: Call) -> Answer:
        """How many teams there are."""
        del call
        return await self._read(store.count_teams)

    @routes.get(f"{_ALL}/users/<column>", ADMIN, data=dict[str, int], also=(_no_column(NoUserColumn),))
    async def users_by(self, call: Call, column: str) -> Answer:
        """How many users have each value of a column."""
        del call
        try:
            return await self._read(store.count_by_as_json, users, column)
        except NotFound as error:
            no_such: NoUserColumn = {"success": False, "message": error.message or ""}
            return json_answer(no_such, 404)

    @routes.get(f"{_ALL}/submissions/<column>", ADMIN, data=dict[str, int], also=(_no_column(NoSubmissionColumn),))
    async def submissions_by(self, call: Call, column: str) -> Answer:
        """How many submissions have each value of a column."""
        del call
        try:
            return await self._read(store.count_by_as_json, submissions, column)
        except NotFound as error:
            no_such: NoSubmissionColumn = {"success": False, "errors": error.message or ""}
            return json_answer(no_such, 404)

    @routes.get(f"{_ALL}/challenges/<column>", ADMIN, query=Aggregate, data=dict[str, int], also=_NO_FUNCTION)
    async def challenges_by(self, call: Call, column: str) -> Answer:
        """Challenges counted (``function=count``), or a column added up (``sum``), for each value of another column."""
        asked = call.query(Aggregate)
        function, target = asked.function or "count", asked.target or "category"
        return await self._read(store.challenges_by, column, function, target)

    @routes.get(f"{_ALL}/challenges/solves", ADMIN, data=list[store.ChallengeSolves])
    async def challenge_solves(self, call: Call) -> Answer:
        """How often each challenge was solved."""
        return await self._read(store.challenge_solves, call.competition)

    @routes.get(f"{_ALL}/challenges/solves/percentages", ADMIN, data=list[store.ChallengeShare])
    async def solve_percentages(self, call: Call) -> Answer:
        """By which share of those who play each challenge was solved."""
        return await self._read(store.solve_percentages, call.competition)

    @routes.get(f"{_ALL}/scores/distribution", ADMIN, data=store.ScoreSpread)
    async def score_distribution(self, call: Call) -> Answer:
        """How scores are spread."""
        return await self._read(store.score_distribution, call.competition)

    @routes.get(f"{_ALL}/progression/matrix", ADMIN, data=ProgressMatrix)
    async def progression_matrix(self, call: Call) -> Answer:
        """What the first hundred have solved, tried and opened."""
        return await self._read(progression_matrix, call.competition, call.url(""))

    def _read(
        self, fn: Callable[Concatenate[Connection, P], Any], *args: P.args, **kwargs: P.kwargs
    ) -> Deferred[Answer]:
        # Encoded in the thread as well: some of these have a line for every submission.
        return self._db.read(lambda conn: ok(fn(conn, *args, **kwargs)))
