"""What a database's errors mean: a defect of ours, bad luck that may not return, or a database that can't be used."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

#: PostgreSQL's serialization_failure, deadlock_detected and lock_not_available.
_AGAIN: Final = frozenset({"40001", "40P01", "55P03"})
#: SQLite's primary codes for what no other SQL would mend: the file is locked, its disk is full, broken or gone.
_UNUSABLE: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)
_PRIMARY: Final = 0xFF
#: PostgreSQL's class of errors about statements that are too long or too complex.
_LIMITS: Final = "54"


def may_succeed_again(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed when it is run anew at once."""
    if error.connection_invalidated:
        # The server went away before our commit was sent, or while it was: only the first is safe to repeat, and
        # SQLAlchemy marks the second by leaving no statement.
        return error.statement is not None
    sqlstate = getattr(error.orig, "sqlstate", None)
    if sqlstate is not None:
        return sqlstate in _AGAIN
    return _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def trouble(error: BaseException | None) -> str | None:
    """Why the database can't be used at present, in a line for the log; None where *error* is something else."""
    if not isinstance(error, DBAPIError):
        return None
    if isinstance(error.orig, sqlite3.Error):
        unusable = _code(error) in _UNUSABLE
    else:
        # The driver's words for what is not the program's doing (connections, resources, locks, shutdowns), but that
        # they take a statement beyond the server's limits for such.
        state = getattr(error.orig, "sqlstate", None) or ""
        operational = isinstance(error, OperationalError | InterfaceError) and not state.startswith(_LIMITS)
        unusable = error.connection_invalidated or operational
    return " ".join(str(error.orig).split()) if unusable else None


def _code(error: DBAPIError) -> int | None:
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY
