"""``/api/v1/modules``, for administrators."""

from __future__ import annotations

from typing import Final

import msgspec

from ctfd_twisted.challenges import modules_store as store
from ctfd_twisted.challenges.ids import sent_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/modules"
_ONE: Final = "/api/v1/modules/<int:module_id>"
_CHALLENGES: Final = f"{_ONE}/challenges"
_AUDIENCES: Final = f"{_ONE}/audiences"


class PlacedFields(msgspec.Struct, frozen=True):
    """The challenge that is put into a module."""

    challenge_id: int


class OpenedFields(msgspec.Struct, frozen=True):
    """The audience to which a module is opened."""

    audience_id: int


class ModulesApi:
    """Modules, what is in them, and to whom they are opened; a change counts from the next request."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.ModuleFilter, data=list[store.Module])
    async def list_modules(self, call: Call) -> Answer:
        """All modules, or those that the query describes."""
        return ok(await self._db.read(store.list_modules, call.query(store.ModuleFilter)))

    @routes.post(_ALL, ADMIN, body=store.ModuleFields, data=store.Module)
    async def create(self, call: Call) -> Answer:
        """Make a module."""
        return ok(await self._db.run(store.create_module, call.body(store.ModuleFields)))

    @routes.get(_ONE, ADMIN, data=store.Module)
    async def show(self, call: Call, module_id: int) -> Answer:
        """One module."""
        del call
        return ok(await self._db.read(store.read_module, module_id))

    @routes.patch(_ONE, ADMIN, body=store.ModuleFields, data=store.Module)
    async def update(self, call: Call, module_id: int) -> Answer:
        """Change what the body names, which is at least the name."""
        return ok(await self._db.run(store.update_module, module_id, call.body(store.ModuleFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, module_id: int) -> Answer:
        """Remove a module; its challenges are open to everybody."""
        del call
        await self._db.run(store.delete_module, module_id)
        return done()

    @routes.get(_CHALLENGES, ADMIN, data=list[store.Placed])
    async def list_challenges(self, call: Call, module_id: int) -> Answer:
        """The challenges in it."""
        del call
        return ok(await self._db.read(store.list_challenges, module_id))

    @routes.post(_CHALLENGES, ADMIN, body=PlacedFields, data=store.Placed)
    async def move_challenge(self, call: Call, module_id: int) -> Answer:
        """Put a challenge into it, out of the module that it was in."""
        sent = await self._needed(call, module_id, "challenge_id")
        return ok(await self._db.run(store.move_challenge, module_id, sent_id(sent)))

    @routes.get(_AUDIENCES, ADMIN, data=list[store.Opened])
    async def list_audiences(self, call: Call, module_id: int) -> Answer:
        """The audiences to which it is opened."""
        del call
        return ok(await self._db.read(store.list_audiences, module_id))

    @routes.post(_AUDIENCES, ADMIN, body=OpenedFields, data=store.Opened)
    async def open_to(self, call: Call, module_id: int) -> Answer:
        """Open it to an audience."""
        sent = await self._needed(call, module_id, "audience_id")
        try:
            audience_id = sent_id(sent)
        except NotFound:
            raise Invalid(audience_id=["Not a valid integer."]) from None
        return ok(await self._db.run(store.open_to, module_id, audience_id))

    @routes.delete(f"{_AUDIENCES}/<int:audience_id>", ADMIN, data=None)
    async def close_to(self, call: Call, module_id: int, audience_id: int) -> Answer:
        """Close it to an audience."""
        del call
        await self._db.run(store.close_to, module_id, audience_id)
        return done()

    async def _needed(self, call: Call, module_id: int, name: str) -> object:
        """What the body says about *name*; raises ``NotFound`` where there is no such module to say it about."""
        value = call.body_object().get(name)
        if value is None:
            await self._db.read(store.read_module, module_id)
            raise Invalid({name: [f"{name} is required"]})
        return value
