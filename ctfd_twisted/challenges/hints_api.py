"""``/api/v1/hints``: for administrators all of it, for players one hint at a time."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from ctfd_twisted.challenges import hints_store as store
from ctfd_twisted.challenges.bodies import AskedPreview
from ctfd_twisted.challenges.hints_store import Hint
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.challenges.rules import prerequisites_of
from ctfd_twisted.challenges.unlocking import OTHERS_FIRST
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Refused
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import refused
from ctfd_twisted.http.gates import ADMIN, CHALLENGES_VISIBLE, DURING_EVENT
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.markdown import rendered

_ALL: Final = "/api/v1/hints"
_ONE: Final = "/api/v1/hints/<hint_id>"
_SIGN_IN: Final = {"cost": ["You must login to unlock this hint"]}


class HintListed(TypedDict):
    """A hint without its text; ``challenge`` is another name of ``challenge_id``."""

    id: int
    title: str | None
    type: str
    challenge: int | None
    challenge_id: int | None
    cost: int


class HintShown(HintListed):
    """A hint, with its text once the account has unlocked it; administrators see it all with ``preview``."""

    content: NotRequired[str | None]
    html: NotRequired[str]
    requirements: NotRequired[dict[str, Any] | None]


class HintStored(HintListed):
    """A hint as it is stored, and its text as HTML."""

    content: str | None
    html: str
    requirements: dict[str, Any] | None


_REFUSED: Final = (refused("The caller has to sign in, or other hints have to be unlocked before."),)


class HintsApi:
    """Hints."""

    routes = Routes()

    def __init__(self, db: Database, reader: ChallengeReader) -> None:
        self._db = db
        self._reader = reader

    @routes.get(_ALL, ADMIN, query=store.HintFilter, data=list[HintListed])
    async def list_hints(self, call: Call) -> Answer:
        """All hints, or those that the query describes, without their content."""
        return ok([_locked(hint) for hint in await self._db.read(store.list_hints, call.query(store.HintFilter))])

    @routes.post(_ALL, ADMIN, body=store.HintFields, data=HintStored)
    async def create(self, call: Call) -> Answer:
        """Make a hint."""
        return ok(_whole(await self._db.run(store.create_hint, call.body(store.HintFields)), call.competition))

    @routes.patch(_ONE, ADMIN, body=store.HintFields, data=HintStored)
    async def update(self, call: Call, hint_id: str) -> Answer:
        """Change what the body names."""
        hint = await self._db.run(store.update_hint, row_id(hint_id), call.body(store.HintFields))
        return ok(_whole(hint, call.competition))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, hint_id: str) -> Answer:
        """Remove a hint."""
        del call
        await self._db.run(store.delete_hint, row_id(hint_id))
        return done()

    @routes.get(_ONE, DURING_EVENT, CHALLENGES_VISIBLE, query=AskedPreview, data=HintShown, also=_REFUSED)
    async def show(self, call: Call, hint_id: str) -> Answer:
        """One hint: without its content until the account has unlocked it, also where it is free."""
        hint, needed = await self._db.read(store.ask_for_hint, row_id(hint_id))
        view = self._reader.ready(call) or await self._reader.get(call)
        if not call.is_admin:
            view.demand_readable(hint.challenge_id)
        if call.player is None:
            return _for_visitors(hint, call.competition)
        if call.is_admin and call.query(AskedPreview).preview:
            return ok(_whole(hint, call.competition))
        if not needed <= view.own.hints:
            raise Refused(OTHERS_FIRST)
        return ok(_unlocked(hint, call.competition) if hint.id in view.own.hints else _locked(hint))


def _for_visitors(hint: Hint, competition: Competition) -> Answer:
    free = not hint.cost and not prerequisites_of(hint.requirements)
    if not free or not competition.truthy("hints_free_public_access"):
        raise Refused(_SIGN_IN)
    return ok(_unlocked(hint, competition))


def _locked(hint: Hint) -> HintListed:
    """What everybody may know of a hint whose challenge they see."""
    return {
        "id": hint.id,
        "title": hint.title,
        "type": hint.type,
        "challenge": hint.challenge_id,
        "challenge_id": hint.challenge_id,
        "cost": hint.cost,
    }


def _unlocked(hint: Hint, competition: Competition) -> HintShown:
    return {
        "id": hint.id,
        "title": hint.title,
        "type": hint.type,
        "challenge": hint.challenge_id,
        "challenge_id": hint.challenge_id,
        "cost": hint.cost,
        "content": hint.content,
        "html": rendered(hint.content, competition),
    }


def _whole(hint: Hint, competition: Competition) -> HintStored:
    """As administrators see it."""
    html = rendered(hint.content, competition)
    return {**_locked(hint), "content": hint.content, "html": html, "requirements": hint.requirements}
