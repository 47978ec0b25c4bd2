"""``/api/v1/statistics``, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Final, ParamSpec

from sqlalchemy import Connection
from twisted.internet.defer import Deferred

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, json_answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring import statistics_store as store
from ctfd_twisted.scoring.matrix_store import progression_matrix
from ctfd_twisted.scoring.tables import submissions

_ALL: Final = "/api/v1/statistics"
P = ParamSpec("P")


class StatisticsApi:
    """Numbers about the competition, as they are now: nothing is kept, and no freeze applies."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(f"{_ALL}/users", ADMIN)
    async def users(self, call: Call) -> Answer:
        """How many users there are."""
        del call
        return await self._read(store.count_users)

    @routes.get(f"{_ALL}/teams", ADMIN)
    async def teams(self, call: Call) -> Answer:
        """How many teams there are."""
        del call
        return await self._read(store.count_teams)

    @routes.get(f"{_ALL}/users/<column>", ADMIN)
    async def users_by(self, call: Call, column: str) -> Answer:
        """How many users have each value of a column."""
        del call
        try:
            return await self._read(store.count_by, users, column)
        except NotFound as error:
            return json_answer({"success": False, "message": error.message}, 404)

    @routes.get(f"{_ALL}/submissions/<column>", ADMIN)
    async def submissions_by(self, call: Call, column: str) -> Answer:
        """How many submissions have each value of a column."""
        del call
        try:
            return await self._read(store.count_by, submissions, column)
        except NotFound as error:
            return json_answer({"success": False, "errors": error.message}, 404)

    @routes.get(f"{_ALL}/challenges/<column>", ADMIN)
    async def challenges_by(self, call: Call, column: str) -> Answer:
        """Challenges counted, or one column of theirs added up, for each value of another."""
        function, target = call.argument("function") or "count", call.argument("target") or "category"
        return await self._read(store.challenges_by, column, function, target)

    @routes.get(f"{_ALL}/challenges/solves", ADMIN)
    async def challenge_solves(self, call: Call) -> Answer:
        """How often each challenge was solved."""
        return await self._read(store.challenge_solves, call.competition)

    @routes.get(f"{_ALL}/challenges/solves/percentages", ADMIN)
    async def solve_percentages(self, call: Call) -> Answer:
        """By which share of those who play each challenge was solved."""
        return await self._read(store.solve_percentages, call.competition)

    @routes.get(f"{_ALL}/scores/distribution", ADMIN)
    async def score_distribution(self, call: Call) -> Answer:
        """How scores are spread."""
        return await self._read(store.score_distribution, call.competition)

    @routes.get(f"{_ALL}/progression/matrix", ADMIN)
    async def progression_matrix(self, call: Call) -> Answer:
        """What the first hundred have solved, tried and opened."""
        return await self._read(progression_matrix, call.competition, call.url(""))

    def _read(
        self, fn: Callable[Concatenate[Connection, P], Any], *args: P.args, **kwargs: P.kwargs
    ) -> Deferred[Answer]:
        # Encoded in the thread as well: some of these have a line for every submission.
        return self._db.read(lambda conn: ok(fn(conn, *args, **kwargs)))
