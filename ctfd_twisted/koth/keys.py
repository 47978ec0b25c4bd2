"""The competition's two secrets of king of the hill: what moves the ticks, and what hill tokens are made with.

They are two because the first is published after the end (docs/koth.md, "Moments that anybody can check") and the
second never is.
"""

from __future__ import annotations

import json
import secrets
from typing import Final

import msgspec
from sqlalchemy import Connection, update

from ctfd_twisted.competition import tables
from ctfd_twisted.competition.store import ensure_secret, read_secret
from ctfd_twisted.koth.schedule import commitment

MOMENTS: Final = "koth"
TOKENS: Final = "koth_tokens"
#: The secrets of moments that were published, as a JSON list.
_PUBLISHED: Final = "koth_published"


class Commitment(msgspec.Struct, frozen=True):
    """What is public of a secret: its SHA-256 from the start, itself once it was published."""

    commitment: str
    secret: str | None = None


def _new() -> str:
    return secrets.token_hex(32)


def ensure_secrets(conn: Connection) -> None:
    """Make the secrets that are not there yet; they stay the same over restarts."""
    ensure_secret(conn, MOMENTS, _new)
    ensure_secret(conn, TOKENS, _new)


def read_commitments(conn: Connection) -> tuple[Commitment, ...]:
    """The present secret's commitment first, then the secrets that were published before, newest first.

    Empty where no hill was ever made.
    """
    present = read_secret(conn, MOMENTS)
    if present is None:
        return ()
    published = _published(conn)
    earlier = (secret for secret in reversed(published) if secret != present)
    shown = present if present in published else None
    return (Commitment(commitment(present), shown), *(Commitment(commitment(secret), secret) for secret in earlier))


def publish_moments(conn: Connection, *, publish: bool = True) -> tuple[Commitment, ...]:
    """Publish the present secret of moments, for good, and return all commitments; repeating it changes nothing.

    Without *publish* its commitment alone, which there is then in any case.
    """
    ensure_secrets(conn)
    published = _published(conn)
    present = read_secret(conn, MOMENTS)
    if publish and present is not None and present not in published:
        _write(conn, _PUBLISHED, json.dumps([*published, present]))
    return read_commitments(conn)


def renew_published(conn: Connection) -> None:
    """Take a new secret of moments if the present one is known to all: a competition that goes on after its end."""
    present = read_secret(conn, MOMENTS)
    if present is not None and present in _published(conn):
        _write(conn, MOMENTS, _new())


def _published(conn: Connection) -> list[str]:
    stored = read_secret(conn, _PUBLISHED)
    return [] if stored is None else [str(secret) for secret in json.loads(stored)]


def _write(conn: Connection, name: str, value: str) -> None:
    ensure_secret(conn, name, lambda: value)
    conn.execute(update(tables.secrets).where(tables.secrets.c.name == name).values(value=value))
