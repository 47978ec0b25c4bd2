"""``/api/v1/tokens``: one's access tokens."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from ctfd_twisted.accounts import tokens
from ctfd_twisted.accounts.tokens import Token
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.gates import AUTHED, VERIFIED
from ctfd_twisted.http.routes import Routes

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class NewToken(msgspec.Struct, frozen=True):
    """What a new token is to be; ``expiration`` is a date, of which midnight UTC counts."""

    expiration: str | None = None
    description: str | None = None


class TokensApi:
    """Access tokens: a value is shown once, when it is made."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/tokens", VERIFIED, AUTHED)
    async def list_tokens(self, call: Call) -> Answer:
        """One's own tokens."""
        found = await self._db.read(tokens.list_tokens, call.require_player().id)
        return ok([{"id": token.id, "type": token.type, "expiration": iso(token.expiration)} for token in found])

    @routes.post("/api/v1/tokens", VERIFIED, AUTHED)
    async def create_token(self, call: Call) -> Answer:
        """Make a token of one's own."""
        wanted = call.body(NewToken)
        player = call.require_player()
        token, value = await self._db.run(
            tokens.create_token, call.now, player.id, _midnight(wanted.expiration), wanted.description
        )
        return ok({**_shown(token), "user_id": token.user_id, "value": value})

    @routes.get("/api/v1/tokens/<int:token_id>", VERIFIED, AUTHED)
    async def show_token(self, call: Call, token_id: int) -> Answer:
        """One token: one's own, for administrators anybody's."""
        token = await self._db.read(tokens.show_token, token_id, owner=_owner(call))
        shown = {**_shown(token), "last_used": iso(token.last_used)}
        # The value was shown when it was made, and only its hash was kept.
        return ok({**shown, "user_id": token.user_id, "value": None} if call.is_admin else shown)

    @routes.delete("/api/v1/tokens/<int:token_id>", VERIFIED, AUTHED)
    async def delete_token(self, call: Call, token_id: int) -> Answer:
        """Revoke a token: one's own, for administrators anybody's."""
        await self._db.run(tokens.delete_token, token_id, owner=_owner(call))
        return done()


def _owner(call: Call) -> int | None:
    return None if call.is_admin else call.require_player().id


def _shown(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "type": token.type,
        "created": iso(token.created),
        "expiration": iso(token.expiration),
        "description": token.description,
    }


def _midnight(date: str | None) -> datetime | None:
    if not date:
        return None
    try:
        if _DATE.fullmatch(date):
            return datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        pass
    raise Invalid(expiration=["Not a valid date: write it as YYYY-MM-DD"])
