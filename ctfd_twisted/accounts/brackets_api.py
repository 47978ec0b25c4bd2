"""``/api/v1/brackets``."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from ctfd_twisted.accounts.brackets import (
    Bracket,
    BracketFields,
    BracketFilter,
    create_bracket,
    delete_bracket,
    list_brackets,
    update_bracket,
)
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswer

_ALL: Final = "/api/v1/brackets"
_ONE: Final = f"{_ALL}/<int:bracket_id>"


class BracketsApi:
    """Brackets: everybody reads them, administrators change them."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db
        self._all = SharedAnswer(db, lambda conn: list_brackets(conn, BracketFilter()), ("accounts",))

    @routes.get(_ALL, ANYONE, query=BracketFilter, data=list[Bracket], also=(SAME,))
    def list_brackets(self, call: Call) -> Answer | Awaitable[Answer]:
        """All brackets that the query describes."""
        return self._found(call.query(BracketFilter)) if call.arguments else self._all.to(call)

    async def _found(self, wanted: BracketFilter) -> Answer:
        return ok(await self._db.read(list_brackets, wanted))

    @routes.post(_ALL, ADMIN, body=BracketFields, data=Bracket)
    async def create(self, call: Call) -> Answer:
        """Make a bracket."""
        return ok(await self._db.run(create_bracket, call.body(BracketFields)))

    @routes.patch(_ONE, ADMIN, body=BracketFields, data=Bracket)
    async def update(self, call: Call, bracket_id: int) -> Answer:
        """Change what the body names of a bracket."""
        return ok(await self._db.run(update_bracket, bracket_id, call.body(BracketFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, bracket_id: int) -> Answer:
        """Remove a bracket, and everybody from it."""
        del call
        await self._db.run(delete_bracket, bracket_id)
        return done()
