"""Transactions over deliveries and the log: what admins look at and send once more, what receivers catch up on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import NotFound
from ctfd_twisted.webhooks.due import DEAD, PENDING
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints, events

#: Events that one look at the log returns at most.
LOOK: Final = 1000
# Of these there are few, in indexes of their own.
_IN: Final = {"pending": PENDING, "dead": DEAD}


class Delivery(Struct, frozen=True):
    """What is owed, or was sent, to one endpoint; *next_attempt* is None unless it is pending."""

    id: str
    seq: int
    event: str
    state: str
    attempts: int
    next_attempt: datetime | None
    last_status: int | None
    last_error: str | None
    latency_ms: int | None
    created: datetime


class Answered(Struct, frozen=True):
    """One attempt: what was sent beside the body, and what came back."""

    number: int
    started: datetime
    latency_ms: int
    request_headers: dict[str, str]
    status: int | None
    error: str | None
    answer: str


class Logged(Struct, frozen=True):
    """One event of the log."""

    seq: int
    event: str
    created: datetime
    body: bytes


def list_deliveries(
    conn: Connection, endpoint_id: int, state: str | None, offset: int, limit: int
) -> tuple[int, tuple[Delivery, ...]]:
    """How many deliveries of one endpoint there are, and *limit* of them from *offset*, the newest first.

    *state* keeps those in it. Raises ``NotFound``.
    """
    if conn.execute(select(endpoints.c.id).where(endpoints.c.id == endpoint_id)).first() is None:
        raise NotFound
    wanted = [deliveries.c.endpoint_id == endpoint_id]
    if state is not None:
        wanted.append(_IN.get(state, deliveries.c.state == state))
    total = conn.execute(select(func.count()).select_from(deliveries).where(*wanted)).scalar_one()
    rows = conn.execute(_shown(*wanted).order_by(deliveries.c.seq.desc()).offset(offset).limit(limit))
    return total, tuple(_delivery(row) for row in rows)


def show_delivery(conn: Connection, endpoint_id: int, delivery_id: str) -> tuple[Delivery, bytes, tuple[Answered, ...]]:
    """One delivery, its body, and its attempts, the oldest first; raises ``NotFound``."""
    row = conn.execute(_shown(*_one(endpoint_id, delivery_id)).add_columns(events.c.body)).first()
    if row is None:
        raise NotFound
    made = conn.execute(select(attempts).where(attempts.c.delivery_id == delivery_id).order_by(attempts.c.number))
    return _delivery(row), row.body, tuple(_answered(attempt) for attempt in made)


def redeliver(conn: Connection, now: datetime, endpoint_id: int, delivery_id: str) -> Delivery:
    """Send one delivery once more, as soon as its endpoint is active, whatever became of it; raises ``NotFound``.

    One that was never tried stays in its turn.
    """
    known = conn.execute(select(deliveries.c.attempts).where(*_one(endpoint_id, delivery_id))).scalar()
    if known is None:
        raise NotFound
    if known:
        _again(conn, now, _one(endpoint_id, delivery_id))
    return _delivery(conn.execute(_shown(*_one(endpoint_id, delivery_id))).one())


def redeliver_dead(conn: Connection, now: datetime, endpoint_id: int) -> int:
    """Send every dead delivery of one endpoint once more; how many those are. Raises ``NotFound``."""
    if conn.execute(select(endpoints.c.id).where(endpoints.c.id == endpoint_id)).first() is None:
        raise NotFound
    return _again(conn, now, [deliveries.c.endpoint_id == endpoint_id, DEAD])


def events_after(conn: Connection, after: int) -> tuple[int, tuple[Logged, ...]]:
    """The number of the last event there is, and the events after number *after*, in order, :data:`LOOK` at most."""
    last = conn.execute(select(func.max(events.c.seq))).scalar() or 0
    rows = conn.execute(select(events).where(events.c.seq > after).order_by(events.c.seq).limit(LOOK))
    return last, tuple(Logged(row.seq, row.event, row.created, row.body) for row in rows)


def _again(conn: Connection, now: datetime, which: Sequence[ColumnElement[bool]]) -> int:
    changed = conn.execute(update(deliveries).where(*which).values(state="pending", next_attempt=now)).rowcount
    if changed:
        touch(conn, "webhooks")
    return changed


def _one(endpoint_id: int, delivery_id: str) -> list[ColumnElement[bool]]:
    return [deliveries.c.endpoint_id == endpoint_id, deliveries.c.id == delivery_id]


def _shown(*wanted: ColumnElement[bool]) -> Select[Any]:
    return select(deliveries, events.c.event).join(events, events.c.seq == deliveries.c.seq).where(*wanted)


def _delivery(row: Row[Any]) -> Delivery:
    # What was never tried has no time of its own: it goes when those before it have gone.
    due = (row.next_attempt or row.created) if row.state == "pending" else None
    return Delivery(
        id=row.id,
        seq=row.seq,
        event=row.event,
        state=row.state,
        attempts=row.attempts,
        next_attempt=due,
        last_status=row.last_status,
        last_error=row.last_error,
        latency_ms=row.latency_ms,
        created=row.created,
    )


def _answered(row: Row[Any]) -> Answered:
    return Answered(
        number=row.number,
        started=row.started,
        latency_ms=row.latency_ms,
        request_headers=dict(row.request_headers),
        status=row.status,
        error=row.error,
        answer=row.answer.decode("utf-8", "replace"),
    )
