"""``/api/v1/configs/fields``, for administrators."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.accounts import fields_store as store
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/configs/fields"
_ONE: Final = "/api/v1/configs/fields/<field_id>"


class FieldsApi:
    """What accounts are asked beside their name."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.FieldFilter, data=list[store.FieldShown])
    async def list_fields(self, call: Call) -> Answer:
        """All custom fields, or those that the query describes."""
        return ok(await self._db.read(store.list_fields, call.query(store.FieldFilter)))

    @routes.post(_ALL, ADMIN, body=store.FieldFields, data=store.FieldShown)
    async def create(self, call: Call) -> Answer:
        """Define a custom field."""
        return ok(await self._db.run(store.create_field, call.body(store.FieldFields)))

    @routes.get(_ONE, ADMIN, data=store.FieldShown)
    async def show(self, call: Call, field_id: str) -> Answer:
        """One custom field."""
        del call
        return ok(await self._db.read(store.read_field, row_id(field_id)))

    @routes.patch(_ONE, ADMIN, body=store.FieldFields, data=store.FieldShown)
    async def update(self, call: Call, field_id: str) -> Answer:
        """Change what the body names of a custom field."""
        return ok(await self._db.run(store.update_field, row_id(field_id), call.body(store.FieldFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, field_id: str) -> Answer:
        """Remove a custom field with everybody's answers."""
        del call
        await self._db.run(store.delete_field, row_id(field_id))
        return done()
