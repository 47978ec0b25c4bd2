"""Check-then-write on accounts, one at a time."""

from __future__ import annotations

from typing import Final, Literal

from sqlalchemy import Connection, func, select

# Any two fixed numbers; PostgreSQL's advisory locks share one space per database.
_KEYS: Final = {"users": 0x63746670_0001, "teams": 0x63746670_0002}


def serialise(conn: Connection, what: Literal["users", "teams"]) -> None:
    """Let no other transaction pass this line for *what* until this one ends.

    CTFd's tables have no unique constraint on names, and "how many are there" has no row to lock; so whoever creates,
    renames or counts takes this lock before it looks. A SQLite write transaction is alone in the file anyway.
    """
    if conn.dialect.name == "postgresql":
        conn.execute(select(func.pg_advisory_xact_lock(_KEYS[what])))
