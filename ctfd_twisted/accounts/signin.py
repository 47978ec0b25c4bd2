"""Signing in by name and password (accounts-and-sessions.md section 7)."""

from __future__ import annotations

import hashlib

import msgspec
from sqlalchemy import Connection, case, func, select

from ctfd_twisted.accounts.rules import looks_like_email
from ctfd_twisted.accounts.tables import users


class Credentials(msgspec.Struct, frozen=True):
    """What a name leads to: the user and their stored hash.

    Where nobody has the name, or the user has no password, ``stored`` is ``None`` and ``like`` is somebody's hash: one
    that costs as much to verify against.
    """

    user_id: int | None
    name: str
    stored: str | None
    like: str | None


def find_credentials(conn: Connection, name: str) -> Credentials:
    """Return what *name* leads to: an e-mail address where it looks like one, else a name; letters as they are."""
    column = users.c.email if looks_like_email(name.strip()) else users.c.name
    # Blanks at the ends count where a name is stored with them; otherwise they are a slip of the fingers.
    exact = case((column == name, 0), else_=1)
    chosen = select(users.c.id, users.c.name, users.c.password).where(column.in_((name, name.strip())))
    row = conn.execute(chosen.order_by(exact, users.c.id)).first()
    if row is not None and row.password is not None:
        return Credentials(row.id, row.name or "", row.password, None)
    return Credentials(None if row is None else row.id, name, None, _somebodys_hash(conn, name))


def _somebodys_hash(conn: Connection, name: str) -> str | None:
    """Return the hash of one user, always the same for one *name*.

    Adopted databases hold hashes of several costs; an unknown name must take as long as somebody's does, at every try.
    """
    highest = conn.scalar(select(func.max(users.c.id))) or 1
    start = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:6]) % highest
    found = (
        select(users.c.password).where(users.c.password.is_not(None), users.c.id > start).order_by(users.c.id).limit(1)
    )
    return conn.scalar(found)
