"""Access tokens: stored hashed, shown once, with an expiry and a last use (beyond.md 13)."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, Select, delete, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.sessions_tables import token_uses
from ctfd_twisted.accounts.tables import tokens
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import NotFound

#: How long a token lives where nobody says otherwise.
LASTS: Final = timedelta(days=30)

# How the hash of a value stands in ``tokens.value``. CTFd's own values begin with ``ctfd_``, so the two never meet.
_HASHED: Final = "sha256$"


class Token(msgspec.Struct, frozen=True):
    """One access token without its value."""

    id: int
    user_id: int
    type: str
    created: datetime | None
    expiration: datetime | None
    description: str | None
    last_used: datetime | None


class TokenOwner(msgspec.Struct, frozen=True):
    """Whose token it is and until when.

    ``digest`` is the SHA-256 of its value in hex; ``clear`` says that the database still holds the value itself.
    """

    token_id: int
    user_id: int
    expiration: datetime | None
    digest: str
    clear: bool

    def expired(self, now: datetime) -> bool:
        """Whether the token no longer counts at *now*; one without expiry always does."""
        return self.expiration is not None and now >= self.expiration


def digest_of(value: str) -> str:
    """Return the SHA-256 of a token's value in hex; the value is random, so it needs no salt and no slow hash."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def create_token(
    conn: Connection, now: datetime, user_id: int, expiration: datetime | None, description: str | None
) -> tuple[Token, str]:
    """Make an access token of a user and return it with its value, which is known to nobody afterwards.

    Without an *expiration* it lives 30 days; one in the past is accepted. Raises ``NotFound`` for an unknown user.
    """
    value = f"ctfd_{secrets.token_hex(32)}"
    ends = now + LASTS if expiration is None else expiration
    try:
        with conn.begin_nested():
            token_id = insert_row(
                conn,
                tokens,
                {
                    "type": "user",
                    "user_id": user_id,
                    "created": now,
                    "expiration": ends,
                    "description": description,
                    "value": _HASHED + digest_of(value),
                },
            )
    except IntegrityError:
        raise NotFound from None
    touch(conn, "tokens")
    return Token(token_id, user_id, "user", now, ends, description, None), value


def find_by_value(conn: Connection, value: str) -> TokenOwner | None:
    """Return the owner of the token with this value, whether its hash is stored or, by CTFd, the value itself."""
    owner = _owner(conn, _owners().where(tokens.c.value == _HASHED + digest_of(value)))
    if owner is not None or value.startswith(_HASHED):
        return owner  # a value that looks like a stored hash was read out of the database, and is no token
    return _owner(conn, _owners().where(tokens.c.value == value))


def find_by_id(conn: Connection, token_id: int) -> TokenOwner | None:
    """Return the owner of a token by its id."""
    return _owner(conn, _owners().where(tokens.c.id == token_id))


def keep_hash_only(conn: Connection, value: str) -> None:
    """Replace the *value* of a token that CTFd stored in clear by its hash, at its first use."""
    hashed = _HASHED + digest_of(value)
    if conn.execute(update(tokens).where(tokens.c.value == value).values(value=hashed)).rowcount:
        touch(conn, "tokens")


def record_use(conn: Connection, now: datetime, token_id: int) -> None:
    """Note that a token was used at *now*; nothing happens for one that is gone."""
    if conn.execute(update(token_uses).where(token_uses.c.token_id == token_id).values(used=now)).rowcount:
        return
    with suppress(IntegrityError), conn.begin_nested():
        conn.execute(token_uses.insert().values(token_id=token_id, used=now))


def list_tokens(conn: Connection, user_id: int) -> tuple[Token, ...]:
    """Return a user's tokens in the order of their ids."""
    return tuple(map(_token, conn.execute(_listing().where(tokens.c.user_id == user_id).order_by(tokens.c.id))))


def show_token(conn: Connection, token_id: int, *, owner: int | None) -> Token:
    """Return one token; raises ``NotFound`` unless it is *owner*'s (``None``: anybody's)."""
    row = conn.execute(_listing().where(tokens.c.id == token_id)).first()
    if row is None or owner not in {None, row.user_id}:
        raise NotFound
    return _token(row)


def delete_token(conn: Connection, token_id: int, *, owner: int | None) -> None:
    """Revoke one token; raises ``NotFound`` unless it is *owner*'s (``None``: anybody's)."""
    mine = () if owner is None else (tokens.c.user_id == owner,)
    if not conn.execute(delete(tokens).where(tokens.c.id == token_id, *mine)).rowcount:
        raise NotFound
    touch(conn, "tokens")


def _owners() -> Select[Any]:
    return select(tokens.c.id, tokens.c.user_id, tokens.c.expiration, tokens.c.value)


def _owner(conn: Connection, statement: Select[Any]) -> TokenOwner | None:
    row = conn.execute(statement).first()
    if row is None or row.user_id is None:
        return None
    value = row.value or ""
    clear = not value.startswith(_HASHED)
    digest = digest_of(value) if clear else value.removeprefix(_HASHED)
    return TokenOwner(row.id, row.user_id, row.expiration, digest, clear)


def _listing() -> Select[Any]:
    return select(tokens, token_uses.c.used).outerjoin(token_uses, token_uses.c.token_id == tokens.c.id)


def _token(row: Row[Any]) -> Token:
    return Token(row.id, row.user_id, row.type or "user", row.created, row.expiration, row.description, row.used)
