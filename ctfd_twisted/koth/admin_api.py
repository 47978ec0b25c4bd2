"""What administrators do with hills: look at every tick, probe, take points back, reset."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypedDict

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.described import invalid
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import AskedPages, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.koth.boards import name_account, read_ticks
from ctfd_twisted.koth.challenge_type import checked
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.plans import ask_reset
from ctfd_twisted.koth.probe import Named, Probed, shown_probe
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.rules import Outcome
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.store import find_account, read_directory, read_settings_of
from ctfd_twisted.koth.views import CheckShown, shown_check
from ctfd_twisted.koth.voids import Void, read_voids, undo_void, void_ticks

_SIZE: Final = 50
_MOST: Final = 500
#: Seconds that one request of a probe may take, whatever the hill's own timeout: somebody waits for the answer.
PATIENCE: Final = 15.0
_LONGEST_REASON: Final = 2_000


class CheckFilter(msgspec.Struct, frozen=True):
    """Which checks are asked for."""

    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET


class ProbeBody(HillSettings, frozen=True):
    """The settings of a hill; what a probe does not need may be left out."""

    interval: int = 60
    reward: int = 1


class VoidBody(msgspec.Struct, frozen=True):
    """What is to be taken back, and why."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    reason: str


#: What a probe does not need, where it is asked for without it.
_ENOUGH: Final = {name: getattr(ProbeBody(""), name) for name in ("interval", "reward")}

#: What was taken back, why and by whom: ``from`` and ``to`` are ticks, ``ticks`` counts those it holds at present.
VoidShown = TypedDict(
    "VoidShown",
    {
        "id": int,
        "challenge_id": int,
        "from": int,
        "to": int,
        "reason": str,
        "author": str,
        "date": str | None,
        "undone": str | None,
        "undone_by": str | None,
        "ticks": int,
    },
)


class ResetAsked(TypedDict):
    """The target will be made pristine."""

    challenge_id: int
    reset_asked: Literal[True]


class HillsAdminApi:
    """The administrators' side of ``/api/v1/koth``."""

    routes = Routes()

    def __init__(self, db: Database, client: HillClient) -> None:
        self._db = db
        self._client = client

    @routes.get(
        "/api/v1/koth/<int:challenge_id>/checks",
        ADMIN,
        query=(CheckFilter, AskedPages),
        data=list[CheckShown],
        meta=Paged,
    )
    async def list_checks(self, call: Call, challenge_id: int) -> Answer:
        """Every tick with its evidence, newest first."""
        outcome = call.query(CheckFilter).outcome
        asked = call.query(AskedPages)
        page = asked_page(asked.page, asked.per_page, size=_SIZE, most=_MOST)
        await self._settings(challenge_id)
        ticks, total = await self._db.read(
            read_ticks,
            challenge_id,
            teams_mode=call.competition.teams,
            outcome=None if isinstance(outcome, msgspec.UnsetType) else outcome,
            limit=page.size,
            offset=page.offset,
        )
        return ok([shown_check(tick) for tick in ticks], meta=page.meta(total))

    @routes.post("/api/v1/koth/<int:challenge_id>/probe", ADMIN, data=Probed)
    async def probe(self, call: Call, challenge_id: int) -> Answer:
        """Poll a hill once, now, and award nothing."""
        return await self._probe(call, await self._settings(challenge_id))

    @routes.post("/api/v1/koth/probe", ADMIN, body=ProbeBody, data=Probed)
    async def probe_unsaved(self, call: Call) -> Answer:
        """Poll a hill with settings that are not saved yet, and award nothing."""
        return await self._probe(call, checked({**_ENOUGH, **call.body_object()}))

    async def _probe(self, call: Call, settings: HillSettings) -> Answer:
        patient = msgspec.structs.replace(settings, timeout=min(settings.seconds, PATIENCE))
        evidence = await self._client.poll(patient)
        return ok(await self._db.read(_judged, call.competition, call.now, settings, evidence))

    @routes.get("/api/v1/koth/<int:challenge_id>/void", ADMIN, data=list[VoidShown])
    async def list_voids(self, call: Call, challenge_id: int) -> Answer:
        """What was taken back from a hill, the latest first."""
        del call
        await self._settings(challenge_id)
        return ok([_shown(void) for void in await self._db.read(read_voids, challenge_id)])

    @routes.post("/api/v1/koth/<int:challenge_id>/void", ADMIN, body=VoidBody, data=VoidShown)
    async def void(self, call: Call, challenge_id: int) -> Answer:
        """Take back the awards of some ticks."""
        body = call.body(VoidBody)
        if body.last < body.first:
            raise Invalid(to=["Must not be less than from."])
        reason = body.reason.strip()
        if not reason or len(reason) > _LONGEST_REASON:
            raise Invalid(reason=[f"Must be a text of at most {_LONGEST_REASON} characters."])
        author = call.require_player()
        void = await self._db.run(void_ticks, call.now, author, challenge_id, body.first, body.last, reason)
        return ok(_shown(void))

    @routes.delete(
        "/api/v1/koth/<int:challenge_id>/void/<int:void_id>",
        ADMIN,
        data=VoidShown,
        also=(invalid("It was given again already."),),
    )
    async def undo(self, call: Call, challenge_id: int, void_id: int) -> Answer:
        """Give again what was taken back."""
        return ok(_shown(await self._db.run(undo_void, call.now, call.require_player(), challenge_id, void_id)))

    @routes.post(
        "/api/v1/koth/<int:challenge_id>/reset",
        ADMIN,
        data=ResetAsked,
        also=(invalid("The hill has no URL that resets its target."),),
    )
    async def reset(self, call: Call, challenge_id: int) -> Answer:
        """Make the target pristine as soon as no poll is under way."""
        del call
        await self._settings(challenge_id)
        if not await self._db.run(ask_reset, challenge_id):
            raise Invalid(reset_url=["This hill has no URL that resets its target."])
        asked: ResetAsked = {"challenge_id": challenge_id, "reset_asked": True}
        return ok(asked)

    async def _settings(self, challenge_id: int) -> HillSettings:
        """The settings of a hill; raises ``NotFound`` for what is none."""
        found = await self._db.read(read_settings_of, [challenge_id])
        if challenge_id not in found:
            raise NotFound
        return found[challenge_id]


def _judged(
    conn: Connection, competition: Competition, now: datetime, settings: HillSettings, evidence: Evidence
) -> Probed:
    directory = read_directory(conn)
    named: list[Named | None] = []
    for owner in evidence.owners:
        match = directory.find(owner)
        account = None if match is None else find_account(conn, match, teams_mode=competition.teams)
        if match is None or account is None:
            named.append(None)
        else:
            named.append(Named(match, account, name_account(conn, account, teams_mode=competition.teams)))
    return shown_probe(evidence, tuple(named), settings, now, teams_mode=competition.teams)


def _shown(void: Void) -> VoidShown:
    return {
        "id": void.id,
        "challenge_id": void.challenge_id,
        "from": void.from_tick,
        "to": void.to_tick,
        "reason": void.reason,
        "author": void.author,
        "date": iso(void.date),
        "undone": iso(void.undone),
        "undone_by": void.undone_by,
        "ticks": void.ticks,
    }
