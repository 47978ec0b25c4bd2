"""How far the mail of a database is behind, for those who watch it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, func, select

from ctfd_twisted.mail.tables import outbox


class Backlog(msgspec.Struct, frozen=True):
    """Letters that are owed, since how many seconds the first of them is due, and those that were given up."""

    owed: int
    late: float
    given_up: int


def read_backlog(conn: Connection, now: datetime) -> Backlog:
    """What is owed at *now*."""
    everything, owed, first = conn.execute(_COUNTED).one()
    late = 0.0 if first is None else max(0.0, (now - first).total_seconds())
    return Backlog(owed, late, everything - owed)


_COUNTED: Final = select(func.count(), func.count(outbox.c.next_attempt), func.min(outbox.c.next_attempt)).select_from(
    outbox
)
