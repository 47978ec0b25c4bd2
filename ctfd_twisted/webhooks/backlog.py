"""How far the webhooks of a database are behind, for those who watch it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, bindparam, func, select

from ctfd_twisted.webhooks.due import ACTIVE_NOW, DEAD, PENDING, by_indexes
from ctfd_twisted.webhooks.tables import deliveries, endpoints


class Backlog(msgspec.Struct, frozen=True):
    """Deliveries that are owed to active endpoints, since how many seconds the first of them is due, and dead ones.

    *endpoints* is how many there are of each state.
    """

    owed: int
    late: float
    dead: int
    endpoints: dict[str, int]


def read_backlog(conn: Connection, now: datetime) -> Backlog:
    """What is owed at *now*."""
    by_indexes(conn)
    owed, oldest = conn.execute(_OWED).one()
    again: datetime | None = conn.scalar(_AGAIN, {"now": now})
    dues = [due for due in (oldest, again) if due is not None]
    late = max([0.0, *((now - due).total_seconds() for due in dues)])
    states = {str(state): int(count) for state, count in conn.execute(_STATES)}
    return Backlog(owed, late, conn.scalar(_DEAD) or 0, states)


_NOW: Final[Any] = bindparam("now")
_OWED_TO: Final = (PENDING, ACTIVE_NOW)
_BOTH: Final = deliveries.join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
# What was never tried has been due since it was made.
_FIRST: Final = func.min(deliveries.c.created).filter(deliveries.c.next_attempt.is_(None))
_OWED: Final = select(func.count(), _FIRST).select_from(_BOTH).where(*_OWED_TO)
_AGAIN: Final = (
    select(func.min(deliveries.c.next_attempt)).select_from(_BOTH).where(*_OWED_TO, deliveries.c.next_attempt <= _NOW)
)
_DEAD: Final = select(func.count()).select_from(deliveries).where(DEAD)
_STATES: Final = select(endpoints.c.state, func.count()).group_by(endpoints.c.state)
