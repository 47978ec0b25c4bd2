"""What is written down of the last import."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from sqlalchemy import Connection, delete, select, update

from ctfd_twisted.archive.tables import imports
from ctfd_twisted.db.writes import insert_row

#: After so long without an end, its node has been killed.
LOST: Final = timedelta(hours=2)


class Last(msgspec.Struct, frozen=True):
    """The last import, or trial of one; without an end it goes on, unless it is *lost*."""

    began: datetime
    ended: datetime | None
    trial: bool
    problem: str | None
    lines: tuple[str, ...]
    lost: bool


def begin(conn: Connection, now: datetime, *, trial: bool) -> int:
    """Write down that one has begun, in place of the one before; its number."""
    conn.execute(delete(imports))
    return insert_row(conn, imports, {"began": now, "trial": trial})


def end(conn: Connection, number: int, now: datetime, problem: str | None, lines: Sequence[str]) -> None:
    """Write down how it ended."""
    values = {"ended": now, "problem": problem, "lines": list(lines)}
    conn.execute(update(imports).where(imports.c.id == number).values(**values))


def last(conn: Connection, now: datetime) -> Last | None:
    """The last one that was begun."""
    row = conn.execute(select(imports).order_by(imports.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    lost = row.ended is None and now - row.began > LOST
    return Last(row.began, row.ended, row.trial, row.problem, tuple(row.lines or ()), lost)
