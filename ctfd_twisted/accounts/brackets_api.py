"""``GET /api/v1/brackets``."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.accounts.brackets import BracketFilter, list_brackets
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes


class BracketQuery(msgspec.Struct, frozen=True):
    """The query of the list of brackets."""

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description", "type"] | UnsetType = UNSET


class BracketsApi:
    """Brackets as everybody reads them."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/brackets", ANYONE)
    async def list_brackets(self, call: Call) -> Answer:
        """All brackets that the query describes."""
        query = msgspec.structs.asdict(call.query(BracketQuery))
        wanted = BracketFilter(**{key: value for key, value in query.items() if value is not UNSET})
        return ok(await self._db.read(list_brackets, wanted))
