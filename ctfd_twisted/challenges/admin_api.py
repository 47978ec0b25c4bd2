"""What administrators do with challenges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from ctfd_twisted.challenges import parts, store
from ctfd_twisted.challenges.bodies import ChallengeFields
from ctfd_twisted.challenges.forms import form_html
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.shown import ChallengeKind, ChallengeShown, kind_readout
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import carried_through
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import JSON, Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import impossible
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.shared import Shared, version_of
from ctfd_twisted.http.sharing import KEPT, SAME, tagged_answer
from ctfd_twisted.koth.settings_shown import HillFields

#: Removes the stored content at these locations.
RemoveFiles = Callable[[Sequence[str]], Awaitable[None]]

_ONE: Final = "/api/v1/challenges/<challenge_id>"
_IMPOSSIBLE: Final = (impossible("A value that follows the solves lacks a number."),)


class ChallengeKindWithForm(ChallengeKind):
    """A kind of challenge, with the HTML of the controls for its own settings."""

    create: str


class ChallengesAdminApi:
    """The administrators' side of ``/api/v1/challenges``."""

    routes = Routes()

    def __init__(self, db: Database, remove_files: RemoveFiles) -> None:
        self._db = db
        self._remove_files = remove_files
        #: The kinds that are installed: the same for as long as the process runs.
        self._types: Shared | None = None

    @routes.get("/api/v1/challenges/types", ADMIN, data=dict[str, ChallengeKindWithForm], also=(SAME,))
    def list_types(self, call: Call) -> Answer:
        """Every kind of challenge, each with the form that asks for its own settings."""
        if self._types is None:
            kinds: dict[str, ChallengeKindWithForm] = {
                kind.id: {**kind_readout(kind), "create": form_html(kind.form_fields)}
                for kind in challenge_types().values()
            }
            self._types = version_of(ok(kinds).body, zips=True)
        return tagged_answer(call, self._types, JSON, KEPT)

    @routes.post("/api/v1/challenges", ADMIN, body=(ChallengeFields, HillFields), data=ChallengeShown, also=_IMPOSSIBLE)
    async def create(self, call: Call) -> Answer:
        """Make a challenge. The settings of its kind stand beside the fields that every challenge has."""
        return ok(await self._db.run(store.create_challenge, call.now, call.body_object()))

    @routes.patch(_ONE, ADMIN, body=(ChallengeFields, HillFields), data=ChallengeShown, also=_IMPOSSIBLE)
    async def update(self, call: Call, challenge_id: str) -> Answer:
        """Change what the body names. A new type changes the label alone."""
        number = row_id(challenge_id)
        return ok(await self._db.run(store.update_challenge, call.now, number, call.body_object()))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, challenge_id: str) -> Answer:
        """Remove a challenge, then the content of its files."""
        del call
        await carried_through(self._delete(row_id(challenge_id)))
        return done()

    async def _delete(self, challenge_id: int) -> None:
        await self._remove_files(await self._db.run(store.delete_challenge, challenge_id))

    @routes.get(f"{_ONE}/requirements", ADMIN, data=dict[str, Any] | None)
    async def show_requirements(self, call: Call, challenge_id: str) -> Answer:
        """The stored requirements, or null."""
        del call
        return ok(await self._db.read(store.read_requirements, row_id(challenge_id)))

    @routes.get(f"{_ONE}/flags", ADMIN, data=list[parts.FlagShown])
    async def list_flags(self, call: Call, challenge_id: str) -> Answer:
        """Its flags."""
        return await self._part(call, challenge_id, parts.list_flags)

    @routes.get(f"{_ONE}/tags", ADMIN, data=list[parts.TagOfChallenge])
    async def list_tags(self, call: Call, challenge_id: str) -> Answer:
        """Its tags."""
        return await self._part(call, challenge_id, parts.list_tags)

    @routes.get(f"{_ONE}/files", ADMIN, data=list[parts.FileOfChallenge])
    async def list_files(self, call: Call, challenge_id: str) -> Answer:
        """Its files."""
        return await self._part(call, challenge_id, parts.list_files)

    @routes.get(f"{_ONE}/hints", ADMIN, data=list[parts.HintOfChallenge])
    async def list_hints(self, call: Call, challenge_id: str) -> Answer:
        """Its hints."""
        return await self._part(call, challenge_id, parts.list_hints)

    @routes.get(f"{_ONE}/topics", ADMIN, data=list[parts.TopicOfChallenge])
    async def list_topics(self, call: Call, challenge_id: str) -> Answer:
        """Its topics."""
        return await self._part(call, challenge_id, parts.list_topics)

    async def _part(self, call: Call, challenge_id: str, listed: Callable[..., Sequence[Mapping[str, Any]]]) -> Answer:
        del call
        try:
            number = row_id(challenge_id)
        except NotFound:
            return ok([])
        return ok(await self._db.read(listed, number))
