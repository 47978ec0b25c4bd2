"""``GET /api/v1/challenges/<id>/solves``: who has solved it, for everybody who may see accounts and scores."""

from __future__ import annotations

from typing import Any

from ctfd_twisted.challenges.bodies import AskedPreview
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.challenges.solvers import TOPICS, Solver, Solvers, read_solvers
from ctfd_twisted.challenges.view import View
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, CHALLENGES_VISIBLE, DURING_EVENT, SCORES_VISIBLE, VERIFIED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswers, taken


class SolversApi:
    """The solvers of each challenge; the lists that were asked for last are kept."""

    routes = Routes()

    def __init__(self, db: Database, reader: ChallengeReader) -> None:
        self._reader = reader
        self._solvers = SharedAnswers(db, read_solvers, TOPICS, topics_of=Solvers.topics)

    @routes.get(
        "/api/v1/challenges/<challenge_id>/solves",
        CHALLENGES_VISIBLE,
        ACCOUNTS_VISIBLE,
        SCORES_VISIBLE,
        DURING_EVENT,
        VERIFIED,
        query=AskedPreview,
        data=list[Solver],
        also=(SAME,),
    )
    def list_solves(self, call: Call, challenge_id: str) -> Any:
        """Who has solved it; administrators see past the freeze, unless they look with ``preview``."""
        view = self._reader.ready(call)
        return self._later(call, challenge_id) if view is None else self._listed(call, view, challenge_id)

    async def _later(self, call: Call, challenge_id: str) -> Answer:
        return await taken(self._listed(call, await self._reader.get(call), challenge_id))

    def _listed(self, call: Call, view: View, challenge_id: str) -> Any:
        entry = view.accessible(challenge_id)
        frozen = not call.is_admin or bool(call.query(AskedPreview).preview)
        return self._solvers.to(call, Solvers(entry.id, frozen, call.url("")))
