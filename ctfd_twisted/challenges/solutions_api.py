"""``/api/v1/solutions``: for administrators all of it, for players one solution at a time."""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from ctfd_twisted.challenges import catalogue
from ctfd_twisted.challenges import solutions_store as store
from ctfd_twisted.challenges.admin_api import RemoveFiles
from ctfd_twisted.challenges.detail import visible_solution
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.challenges.solutions_store import Solution
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import carried_through
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, AUTHED, DURING_EVENT, VERIFIED
from ctfd_twisted.http.plain_bodies import read_plain
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.markdown import rendered

_ALL: Final = "/api/v1/solutions"
_ONE: Final = "/api/v1/solutions/<solution_id>"


class SolutionOffered(TypedDict):
    """What those may know of a solution who may unlock it."""

    id: int
    challenge_id: int | None
    state: str


class SolutionShown(SolutionOffered):
    """A solution, with its text once the account has unlocked it."""

    content: NotRequired[str | None]
    html: NotRequired[str]


class SolutionStored(SolutionOffered):
    """A solution as it is stored; ``challenge`` is another name of ``challenge_id``."""

    challenge: int | None
    content: str | None


class SolutionsApi:
    """Solutions."""

    routes = Routes()

    def __init__(self, db: Database, reader: ChallengeReader, remove_files: RemoveFiles) -> None:
        self._db = db
        self._reader = reader
        self._remove_files = remove_files

    @routes.get(_ALL, ADMIN, query=store.SolutionFilter, data=list[SolutionStored])
    async def list_solutions(self, call: Call) -> Answer:
        """All solutions, or those that the query describes."""
        found = await self._db.read(store.list_solutions, call.query(store.SolutionFilter))
        return ok([_for_admins(solution) for solution in found])

    @routes.post(_ALL, ADMIN, body=store.NewSolution, data=SolutionStored)
    async def create(self, call: Call) -> Answer:
        """Write the solution of a challenge."""
        new = call.body(store.NewSolution, read_plain)
        return ok(_for_admins(await self._db.run(store.create_solution, new)))

    @routes.patch(_ONE, ADMIN, body=store.SolutionFields, data=SolutionStored)
    async def update(self, call: Call, solution_id: str) -> Answer:
        """Change what the body names."""
        fields = call.body(store.SolutionFields)
        return ok(_for_admins(await self._db.run(store.update_solution, row_id(solution_id), fields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, solution_id: str) -> Answer:
        """Remove a solution, then the content of its files."""
        del call
        await carried_through(self._delete(row_id(solution_id)))
        return done()

    async def _delete(self, solution_id: int) -> None:
        await self._remove_files(await self._db.run(store.delete_solution, solution_id))

    @routes.get(_ONE, DURING_EVENT, VERIFIED, AUTHED, data=SolutionShown)
    async def show(self, call: Call, solution_id: str) -> Answer:
        """One solution, without its content until the account has unlocked it."""
        solution = await self._db.read(store.read_solution, row_id(solution_id))
        if call.is_admin:
            return ok(_unlocked(solution, call.competition))
        view = self._reader.ready(call) or await self._reader.get(call)
        entry = view.demand_readable(solution.challenge_id)
        asked = catalogue.Solution(solution.id, solution.state)
        if visible_solution(asked, solved=entry.id in view.own.solved) is None:
            raise NotFound
        account_id = call.require_player().account_id(call.competition)
        unlocked = await self._db.read(store.is_unlocked, call.competition, solution.id, account_id)
        return ok(_unlocked(solution, call.competition) if unlocked else _locked(solution))


def _locked(solution: Solution) -> SolutionOffered:
    return {"id": solution.id, "challenge_id": solution.challenge_id, "state": solution.state}


def _unlocked(solution: Solution, competition: Competition) -> SolutionShown:
    return {**_locked(solution), "content": solution.content, "html": rendered(solution.content, competition)}


def _for_admins(solution: Solution) -> SolutionStored:
    """As it stands in the list and after a change."""
    return {**_locked(solution), "challenge": solution.challenge_id, "content": solution.content}
