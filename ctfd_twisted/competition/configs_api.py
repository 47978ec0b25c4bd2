"""``/api/v1/configs``, for administrators."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from ctfd_twisted.competition import configs_store as store
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import NEVER_KEPT, SAME, SharedAnswers

_ALL: Final = "/api/v1/configs"
_ONE: Final = "/api/v1/configs/<key>"


#: What a setting may be set to; it is stored as text.
ConfigValue = str | int | float | bool | None


class ConfigsApi:
    """The competition's settings; every change takes effect with the answer."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lists = SharedAnswers(db, _listed, ("config",), kept=NEVER_KEPT)

    @routes.get(_ALL, ADMIN, query=store.ConfigFilter, data=list[store.ConfigShown], also=(SAME,))
    def list_configs(self, call: Call) -> Any:
        """All settings that have been made, secrets included."""
        return self._lists.to(call, call.query(store.ConfigFilter))

    @routes.post(_ALL, ADMIN, body=store.ConfigFields, data=store.ConfigShown)
    async def create(self, call: Call) -> Answer:
        """Set one setting."""
        return ok(await self._db.run(store.set_config, call.body(store.ConfigFields)))

    @routes.patch(_ALL, ADMIN, body=dict[str, ConfigValue], data=None)
    async def update_many(self, call: Call) -> Answer:
        """Set all that the body names by key, or none of them."""
        await self._db.run(store.set_configs, call.body_object())
        return done()

    @routes.get(_ONE, ADMIN, data=store.ConfigShown)
    async def show(self, call: Call, key: str) -> Answer:
        """One setting."""
        del call
        return ok(await self._db.read(store.read_config, key))

    @routes.patch(_ONE, ADMIN, body=store.ConfigChange, data=store.ConfigShown)
    async def update(self, call: Call, key: str) -> Answer:
        """Set or rename a setting."""
        return ok(await self._db.run(store.change_config, key, call.body(store.ConfigChange)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, key: str) -> Answer:
        """Remove a setting, so that its default applies."""
        del call
        await self._db.run(store.delete_config, key)
        return done()


def _listed(conn: Connection, wanted: store.ConfigFilter) -> bytes:
    return ok(store.list_configs(conn, wanted)).body
