"""The shared secret: made when it is first needed, rotated with an overlap in which the old one signs as well."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from ctfd_twisted.competition.store import ensure_secret
from ctfd_twisted.competition.tables import secrets as kept
from ctfd_twisted.db.writes import locked
from ctfd_twisted.webhooks.tables import retired_secrets

NAME: Final = "webhooks"
_BYTES: Final = 32

_RETIRED: Final = (
    select(retired_secrets.c.secret, retired_secrets.c.expires)
    .where(retired_secrets.c.expires > bindparam("now"))
    .order_by(retired_secrets.c.id.desc())
)


class SharedSecret(Struct, frozen=True):
    """The present secret and, while they still sign, those before it, the newest first, each with its end."""

    secret: str
    retired: tuple[tuple[str, datetime], ...] = ()

    @property
    def signing(self) -> tuple[str, ...]:
        """The secrets that sign, the newest first."""
        return (self.secret, *(secret for secret, _ in self.retired))


def read_shared_secret(conn: Connection, now: datetime) -> SharedSecret:
    """The shared secret, made here where there is none yet: 32 random bytes as hexadecimal text."""
    secret = ensure_secret(conn, NAME, _fresh)
    retired = conn.execute(_RETIRED, {"now": now})
    return SharedSecret(secret, tuple((row.secret, row.expires) for row in retired))


def rotate_shared_secret(conn: Connection, now: datetime, overlap_seconds: int) -> SharedSecret:
    """Replace the shared secret; the old one signs for *overlap_seconds* more, and no older one signs for longer.

    So a rotation without overlap after a leak ends every secret that was ever shown.
    """
    ensure_secret(conn, NAME, _fresh)
    old = conn.execute(locked(select(kept.c.value).where(kept.c.name == NAME), conn)).scalar_one()
    end = now + timedelta(seconds=overlap_seconds)
    conn.execute(update(kept).where(kept.c.name == NAME).values(value=_fresh()))
    conn.execute(delete(retired_secrets).where(retired_secrets.c.expires <= now))
    conn.execute(update(retired_secrets).where(retired_secrets.c.expires > end).values(expires=end))
    if overlap_seconds:
        conn.execute(insert(retired_secrets).values(secret=old, expires=end))
    return read_shared_secret(conn, now)


def _fresh() -> str:
    return secrets.token_hex(_BYTES)
