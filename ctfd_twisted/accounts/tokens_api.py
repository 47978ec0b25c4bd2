"""``/api/v1/tokens``: one's access tokens."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NotRequired, TypedDict, cast

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

_ALL: Final = "/api/v1/tokens"
_ONE: Final = f"{_ALL}/<int:token_id>"
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class NewToken(msgspec.Struct, frozen=True):
    """What a new token is to be; ``expiration`` is a date, of which midnight UTC counts."""

    expiration: str | None = None
    description: str | None = None


class TokenListed(TypedDict):
    """An access token in the list."""

    id: int
    type: str
    expiration: str | None


class TokenBasics(TokenListed):
    """What an access token always shows."""

    created: str | None
    description: str | None


class TokenMade(TokenBasics):
    """An access token that has just been made."""

    user_id: int
    value: str


class TokenShown(TokenBasics):
    """An access token. Administrators are also told whose it is; its value is not kept, and so always null."""

    last_used: str | None
    user_id: NotRequired[int]
    value: NotRequired[None]


class TokensApi:
    """Access tokens: a value is shown once, when it is made."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, VERIFIED, AUTHED, data=list[TokenListed])
    async def list_tokens(self, call: Call) -> Answer:
        """One's own tokens."""
        found = await self._db.read(tokens.list_tokens, call.require_player().id)
        return ok([_listed(token) for token in found])

    @routes.post(_ALL, VERIFIED, AUTHED, body=NewToken, data=TokenMade)
    async def create_token(self, call: Call) -> Answer:
        """Make a token of one's own; its value is shown here and never again."""
        wanted = call.body(NewToken)
        player = call.require_player()
        token, value = await self._db.run(
            tokens.create_token, call.now, player.id, _midnight(wanted.expiration), wanted.description
        )
        made: TokenMade = {**_basics(token), "user_id": token.user_id, "value": value}
        return ok(made)

    @routes.get(_ONE, VERIFIED, AUTHED, data=TokenShown)
    async def show_token(self, call: Call, token_id: int) -> Answer:
        """One token: one's own, for administrators anybody's."""
        token = await self._db.read(tokens.show_token, token_id, owner=_owner(call))
        return ok(_shown(token, to_admin=call.is_admin))

    @routes.delete(_ONE, VERIFIED, AUTHED, data=None)
    async def delete_token(self, call: Call, token_id: int) -> Answer:
        """Revoke a token: one's own, for administrators anybody's."""
        await self._db.run(tokens.delete_token, token_id, owner=_owner(call))
        return done()


def _owner(call: Call) -> int | None:
    return None if call.is_admin else call.require_player().id


def _listed(token: Token) -> TokenListed:
    return {"id": token.id, "type": token.type, "expiration": iso(token.expiration)}


def _basics(token: Token) -> TokenBasics:
    return {**_listed(token), "created": iso(token.created), "description": token.description}


def _shown(token: Token, *, to_admin: bool) -> TokenShown:
    last_used = iso(token.last_used)
    if to_admin:
        # The value was shown when it was made, and only its hash was kept.
        return {**_basics(token), "last_used": last_used, "user_id": token.user_id, "value": None}
    # By a cast, because mypy can't know that a TypedDict holds no more than it names.
    return cast("TokenShown", {**_basics(token), "last_used": last_used})


def _midnight(date: str | None) -> datetime | None:
    if not date:
        return None
    try:
        if _DATE.fullmatch(date):
            return datetime.fromisoformat(date).replace(tzinfo=UTC)
    except ValueError:
        pass
    raise Invalid(expiration=["Not a valid date: write it as YYYY-MM-DD"])
