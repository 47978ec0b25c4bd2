"""``/api/v1/unlocks``."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.ids import sent_id
from ctfd_twisted.challenges.unlocking import NewUnlock, Unlockable, UnlockShown, unlock_hint, unlock_solution
from ctfd_twisted.db.columns import matching
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.bodies import REQUIRED
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.described import missing, refused
from ctfd_twisted.http.gates import ADMIN, AUTHED, DURING_EVENT, VERIFIED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.tables import unlocks

_BY_TYPE: Final = {"hints": unlock_hint, "solutions": unlock_solution}


class UnlockFilter(msgspec.Struct, frozen=True):
    """Which unlocks are asked for."""

    user_id: int | UnsetType = UNSET
    team_id: int | UnsetType = UNSET
    target: int | UnsetType = UNSET
    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["target", "type"] | UnsetType = UNSET


class UnlockFields(msgspec.Struct, frozen=True):
    """What is to be unlocked: the id of a hint or of a solution."""

    type: Unlockable
    target: int


_ALSO: Final = (
    missing("There is no such hint or solution for the caller."),
    refused("Other hints have to be unlocked before."),
)


class UnlocksApi:
    """What players have unlocked."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/unlocks", ADMIN, query=UnlockFilter, data=list[UnlockShown])
    async def list_unlocks(self, call: Call) -> Answer:
        """All unlocks, or those that the query describes."""
        return ok(await self._db.read(list_unlocks, call.query(UnlockFilter)))

    @routes.post("/api/v1/unlocks", DURING_EVENT, VERIFIED, AUTHED, body=UnlockFields, data=UnlockShown, also=_ALSO)
    async def unlock(self, call: Call) -> Answer:
        """Unlock a hint or a solution for the caller's account."""
        player, body = call.require_player(), call.body_object()
        missing = [name for name in ("type", "target") if name not in body]
        if missing:
            raise Invalid({name: [REQUIRED] for name in missing})
        do_it = _BY_TYPE.get(body["type"]) if isinstance(body["type"], str) else None
        if do_it is None:
            raise Invalid(type="Unknown target type")
        new = NewUnlock(player.id, player.is_admin, sent_id(body["target"]))
        return ok(await self._db.run(do_it, call.now, new))


def list_unlocks(conn: Connection, wanted: UnlockFilter) -> list[UnlockShown]:
    """All unlocks that *wanted* describes, by id."""
    columns = [unlocks.c[name] for name in ("id", "user_id", "team_id", "target", "date", "type")]
    rows = conn.execute(matching(select(*columns), unlocks, wanted).order_by(unlocks.c.id))
    # Unpacked, because the list is whole: ten thousand at a big event, and a name looked up in a row costs its own.
    return [
        {"id": unlock_id, "user_id": user, "team_id": team, "target": target, "date": iso(date), "type": type_}
        for unlock_id, user, team, target, date, type_ in rows
    ]
