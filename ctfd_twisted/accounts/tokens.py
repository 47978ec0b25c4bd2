"""Access tokens: stored hashed, shown once, with an expiry and a last use (beyond.md 13)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, Select, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.players import player_of, players
from ctfd_twisted.accounts.sessions_tables import token_uses
from ctfd_twisted.accounts.tables import tokens, users
from ctfd_twisted.db.gathered import gathered, numbers
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import NotFound

#: How long a token lives where nobody says otherwise.
LASTS: Final = timedelta(days=30)

#: How the hash of a value stands in ``tokens.value``. CTFd's own values begin with ``ctfd_``, so the two never meet.
HASHED: Final = "sha256$"

_OWNERS: Final = (
    players(tokens.c.id.label("token_id"), tokens.c.expiration, tokens.c.value)
    .join(tokens, tokens.c.user_id == users.c.id)
)  # fmt: skip
_BY_ID: Final = _OWNERS.where(tokens.c.id == bindparam("token_id"))
_BY_VALUE: Final = _OWNERS.where(tokens.c.value.in_([bindparam("hashed"), bindparam("clear")]))

_USED: Final = token_uses.c.token_id.in_(bindparam("tokens", expanding=True))
_KNOWN_USES: Final = select(gathered(token_uses.c.token_id)).where(_USED)
_USED_AGAIN: Final = update(token_uses).where(_USED).values(used=bindparam("at"))
# From a SELECT, so that nothing is added for a token that is gone.
_FIRST_USE: Final = insert(token_uses).from_select(
    ["token_id", "used"],
    select(tokens.c.id, bindparam("at", type_=token_uses.c.used.type)).where(tokens.c.id == bindparam("token")),
)


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
    player: Player
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
                    "value": HASHED + digest_of(value),
                },
            )
    except IntegrityError:
        raise NotFound from None
    touch(conn, "tokens")
    return Token(token_id, user_id, "user", now, ends, description, None), value


def find_by_value(conn: Connection, value: str, keys: Keys | None = None) -> TokenOwner | None:
    """Return the owner of the token with this value, whether its hash is stored or, by CTFd, the value itself.

    The player's ``session_hash`` is filled where *keys* are given.
    """
    hashed = HASHED + digest_of(value)
    # A value that looks like a stored hash was read out of the database, and is no token.
    clear = hashed if value.startswith(HASHED) else value
    found = conn.execute(_BY_VALUE, {"hashed": hashed, "clear": clear}).all()
    return next((_owner(row, keys) for row in found if row.value == hashed or len(found) == 1), None)


def find_by_id(conn: Connection, token_id: int, keys: Keys | None = None) -> TokenOwner | None:
    """Return the same by the token's id."""
    row = conn.execute(_BY_ID, {"token_id": token_id}).first()
    return None if row is None else _owner(row, keys)


def keep_hash_only(conn: Connection, value: str) -> None:
    """Replace the *value* of a token that CTFd stored in clear by its hash, at its first use."""
    hashed = HASHED + digest_of(value)
    if conn.execute(update(tokens).where(tokens.c.value == value).values(value=hashed)).rowcount:
        touch(conn, "tokens")


def record_uses(conn: Connection, uses: Mapping[int, datetime]) -> None:
    """Note when tokens were used; tokens that are gone are left out.

    Rows that are there already all get the newest instant of *uses*, so what is written together should be of one
    moment.
    """
    wanted = {"tokens": list(uses)}
    again = conn.execute(_USED_AGAIN, {**wanted, "at": max(uses.values())})
    if again.rowcount == len(uses):
        return
    known = set(numbers(conn.scalar(_KNOWN_USES, wanted)))
    new = [{"token": token_id, "at": at} for token_id, at in uses.items() if token_id not in known]
    if new:
        conn.execute(_FIRST_USE, new)


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


def _owner(row: Row[Any], keys: Keys | None) -> TokenOwner:
    value = row.value or ""
    clear = not value.startswith(HASHED)
    digest = digest_of(value) if clear else value.removeprefix(HASHED)
    return TokenOwner(row.token_id, player_of(row, keys), row.expiration, digest, clear)


def _listing() -> Select[Any]:
    return select(tokens, token_uses.c.used).outerjoin(token_uses, token_uses.c.token_id == tokens.c.id)


def _token(row: Row[Any]) -> Token:
    return Token(row.id, row.user_id, row.type or "user", row.created, row.expiration, row.description, row.used)
