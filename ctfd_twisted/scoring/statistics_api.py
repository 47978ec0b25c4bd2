"""``/api/v1/statistics``, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Final, Literal, NamedTuple, ParamSpec, TypedDict

import msgspec
from sqlalchemy import Connection
from twisted.internet.defer import Deferred

from ctfd_twisted.accounts.newcomers import LIST_TOPICS
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import JSON, Answer, json_answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described, impossible
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswer, SharedAnswers, taken
from ctfd_twisted.scoring import statistics_store as store
from ctfd_twisted.scoring.matrix_store import ProgressMatrix, progression_matrix
from ctfd_twisted.scoring.news import BOARD_TOPICS, SOLVED
from ctfd_twisted.scoring.tables import submissions

_ALL: Final = "/api/v1/statistics"
#: After which commits there may be other challenges.
_CHALLENGES: Final = ("challenges", SOLVED)
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


class _Asked(NamedTuple):
    """What of the challenges is counted or added up, by which column."""

    column: str
    function: str
    target: str


class StatisticsApi:
    """Numbers about the competition as they are now; no freeze applies.

    Those that every submission or look moves are read each time. The others are kept for all administrators until a
    commit moves them, which a wrong answer does not.
    """

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db
        self._users = SharedAnswer(db, store.count_users, LIST_TOPICS)
        self._teams = SharedAnswer(db, store.count_teams, LIST_TOPICS)
        self._users_by = SharedAnswers(db, _count_users_by, LIST_TOPICS)
        self._challenges_by = SharedAnswers(db, _challenges_by, _CHALLENGES)
        self._solves = SharedAnswer(db, _on_the_competition(store.challenge_solves), BOARD_TOPICS)
        self._shares = SharedAnswer(db, _on_the_competition(store.solve_percentages), BOARD_TOPICS)
        self._spread = SharedAnswer(db, _on_the_competition(store.score_distribution), BOARD_TOPICS)

    @routes.get(f"{_ALL}/users", ADMIN, data=store.UserCounts, also=(SAME,))
    def users(self, call: Call) -> Any:
        """How many users there are."""
        return self._users.to(call)

    @routes.get(f"{_ALL}/teams", ADMIN, data=store.TeamCounts, also=(SAME,))
    def teams(self, call: Call) -> Any:
        """How many teams there are."""
        return self._teams.to(call)

    @routes.get(f"{_ALL}/users/<column>", ADMIN, data=dict[str, int], also=(_no_column(NoUserColumn), SAME))
    async def users_by(self, call: Call, column: str) -> Answer:
        """How many users have each value of a column."""
        try:
            return await taken(self._users_by.to(call, column))
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

    @routes.get(f"{_ALL}/challenges/<column>", ADMIN, query=Aggregate, data=dict[str, int], also=(*_NO_FUNCTION, SAME))
    def challenges_by(self, call: Call, column: str) -> Any:
        """Challenges counted (``function=count``), or a column added up (``sum``), for each value of another column."""
        asked = call.query(Aggregate)
        wanted = _Asked(column, asked.function or "count", asked.target or "category")
        return self._challenges_by.to(call, wanted)

    @routes.get(f"{_ALL}/challenges/solves", ADMIN, data=list[store.ChallengeSolves], also=(SAME,))
    def challenge_solves(self, call: Call) -> Any:
        """How often each challenge was solved."""
        return self._solves.to(call)

    @routes.get(f"{_ALL}/challenges/solves/percentages", ADMIN, data=list[store.ChallengeShare], also=(SAME,))
    def solve_percentages(self, call: Call) -> Any:
        """By which share of those who play each challenge was solved."""
        return self._shares.to(call)

    @routes.get(f"{_ALL}/scores/distribution", ADMIN, data=store.ScoreSpread, also=(SAME,))
    def score_distribution(self, call: Call) -> Any:
        """How scores are spread."""
        return self._spread.to(call)

    @routes.get(f"{_ALL}/progression/matrix", ADMIN, data=ProgressMatrix)
    async def progression_matrix(self, call: Call) -> Answer:
        """What the first hundred have solved, tried and opened."""
        return await self._read(progression_matrix, call.competition, call.url(""))

    def _read(
        self, fn: Callable[Concatenate[Connection, P], Any], *args: P.args, **kwargs: P.kwargs
    ) -> Deferred[Answer]:
        # Encoded in the thread as well: some of these have a line for every submission.
        return self._db.read(lambda conn: ok(fn(conn, *args, **kwargs)))


def _on_the_competition(fn: Callable[[Connection, Competition], Any]) -> Callable[[Connection], Any]:
    return lambda conn: fn(conn, read_competition(conn))


def _count_users_by(conn: Connection, column: str) -> bytes:
    return ok(store.count_by_as_json(conn, users, column)).body


def _challenges_by(conn: Connection, wanted: _Asked) -> bytes:
    return ok(store.challenges_by(conn, *wanted)).body
