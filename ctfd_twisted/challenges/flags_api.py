"""``/api/v1/flags``, for administrators."""

from __future__ import annotations

from typing import TypedDict

from ctfd_twisted.challenges import flags_store as store
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.parts import FlagShown
from ctfd_twisted.challenges.registry import flag_types
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Impossible, NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import impossible
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.interfaces import IFlagType

_ONE = "/api/v1/flags/<flag_id>"


class FlagKind(TypedDict):
    """A kind of flag; its templates are paths below the site's root."""

    name: str
    templates: dict[str, str]


class FlagWithForms(FlagShown):
    """A flag with the forms of its kind."""

    templates: dict[str, str]


class FlagsApi:
    """Flags and their types."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/flags", ADMIN, query=store.FlagFilter, data=list[FlagShown])
    async def list_flags(self, call: Call) -> Answer:
        """All flags, or those that the query describes."""
        return ok(await self._db.read(store.list_flags, call.query(store.FlagFilter)))

    @routes.post("/api/v1/flags", ADMIN, body=store.FlagFields, data=FlagShown)
    async def create(self, call: Call) -> Answer:
        """Make a flag."""
        return ok(await self._db.run(store.create_flag, call.body(store.FlagFields)))

    @routes.get("/api/v1/flags/types", ADMIN, data=dict[str, FlagKind])
    def list_types(self, call: Call) -> Answer:
        """Every kind of flag."""
        del call
        return ok({kind.id: _readout(kind) for kind in flag_types().values()})

    @routes.get("/api/v1/flags/types/<type_name>", ADMIN, data=FlagKind)
    def show_type(self, call: Call, type_name: str) -> Answer:
        """One kind of flag."""
        del call
        kind = flag_types().get(type_name)
        if kind is None:
            raise NotFound
        return ok(_readout(kind))

    @routes.get(_ONE, ADMIN, data=FlagWithForms, also=(impossible("The flag's kind is not installed."),))
    async def show(self, call: Call, flag_id: str) -> Answer:
        """One flag with the forms of its kind."""
        del call
        flag = await self._db.read(store.read_flag, row_id(flag_id))
        kind = flag_types().get(flag["type"] or "")
        if kind is None:
            raise Impossible({"": [f"The flag type ({flag['type']}) is not installed."]})
        shown: FlagWithForms = {**flag, "templates": dict(kind.templates)}
        return ok(shown)

    @routes.patch(_ONE, ADMIN, body=store.FlagFields, data=FlagShown)
    async def update(self, call: Call, flag_id: str) -> Answer:
        """Change what the body names."""
        return ok(await self._db.run(store.update_flag, row_id(flag_id), call.body(store.FlagFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, flag_id: str) -> Answer:
        """Remove a flag."""
        del call
        await self._db.run(store.delete_flag, row_id(flag_id))
        return done()


def _readout(kind: IFlagType) -> FlagKind:
    return {"name": kind.name, "templates": dict(kind.templates)}
