"""Transactions of the dispatcher: claim what is due, record what each attempt came to, give claims back.

A claim is a mark with an end on a delivery. Several nodes may claim at once: each takes endpoints that no other is
looking at in that moment, and sees under the endpoint's lock what is under way to it, whoever sends it. So the limits
and the order hold for all nodes together, and what a killed node had claimed is claimed anew when its mark has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select, update

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.notices import touch
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.endpoints import ACTIVE
from ctfd_twisted.webhooks.rules import (
    EXCHANGE,
    lanes,
)
from ctfd_twisted.webhooks.shared_secret import SharedSecret, read_shared_secret
from ctfd_twisted.webhooks.tables import deliveries, endpoints, events

#: How long a claim is believed: one exchange, and time to record it.
CLAIM: Final = timedelta(seconds=EXCHANGE + 5)

_FREED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until": None}

Headers = tuple[tuple[str, str], ...]


class Claim(Struct, frozen=True):
    """One delivery that this node may send now; *attempts* were made before."""

    delivery_id: str
    endpoint_id: int
    url: str
    standard_webhooks: bool
    event: str
    body: bytes
    attempts: int


class Claims(Struct, frozen=True):
    """What was claimed, and what is needed to send it."""

    claims: tuple[Claim, ...]
    secret: SharedSecret
    egress: Egress


def is_due(conn: Connection, now: datetime) -> bool:
    """Whether anything might be claimed at *now*; cheap, for asking often."""
    return conn.execute(select(endpoints.c.id).where(_has_due(now)).limit(1)).first() is not None


def claim_due(conn: Connection, now: datetime, node: str, room: int) -> Claims | None:
    """Claim for *node* up to *room* deliveries that are due, at most as many per endpoint as its lanes allow.

    To one endpoint the events that were never tried go one after another in their order, beside retries; while its
    circuit is open there is one lane, and what was never tried comes first. None where nothing was claimed.
    """
    open_to_us = conn.execute(
        select(endpoints.c.id, endpoints.c.failures)
        .where(_has_due(now))
        .order_by(endpoints.c.id)
        .with_for_update(key_share=True, skip_locked=True)
    ).all()
    if not open_to_us:
        return None
    under_way = _under_way(conn, now)
    turns: list[tuple[int, int, str]] = []
    for endpoint in open_to_us:
        fresh, retries = under_way.get(endpoint.id, (0, 0))
        lane = _next_of(conn, now, endpoint.id, lanes(endpoint.failures) - fresh - retries, first=not fresh)
        turns.extend((turn, seq, delivery_id) for turn, (seq, delivery_id) in enumerate(lane))
    # One of each endpoint before the second of any, and the oldest events first: nobody waits for ever.
    chosen = [delivery_id for _, _, delivery_id in sorted(turns)[:room]]
    if not chosen:
        return None
    conn.execute(
        update(deliveries).where(deliveries.c.id.in_(chosen)).values(claimed_by=node, claimed_until=now + CLAIM)
    )
    return Claims(_claims(conn, chosen), read_shared_secret(conn, now), read_egress(conn))


def release(conn: Connection, node: str) -> None:
    """Give back every claim of *node*, so that another need not wait for its end."""
    conn.execute(update(deliveries).where(deliveries.c.claimed_by == node).values(claimed_by=None, claimed_until=None))
    touch(conn, "webhooks")


def read_egress(conn: Connection) -> Egress:
    """The settings of where webhooks may go."""
    rows = conn.execute(
        select(config.c.key, config.c.value)
        .where(config.c.key.in_(("egress_deny", "egress_private")))
        .order_by(config.c.id.desc())
    )
    return egress_of(Competition({row.key: row.value for row in rows}))


def egress_of(competition: Competition) -> Egress:
    """The same, out of settings that were read already."""
    return Egress.of(competition.text("egress_deny"), private=competition.truthy("egress_private", default=True))


def _has_due(now: datetime) -> ColumnElement[bool]:
    # Two questions, because an index answers each at once and the two together not.
    mine = (
        deliveries.c.endpoint_id == endpoints.c.id,
        deliveries.c.state == "pending",
        _unclaimed(now),
    )
    fresh = exists().where(*mine, deliveries.c.next_attempt.is_(None))
    again = exists().where(*mine, deliveries.c.next_attempt <= now)
    return and_(endpoints.c.state == ACTIVE, or_(fresh, again))


def _unclaimed(now: datetime) -> ColumnElement[bool]:
    return or_(deliveries.c.claimed_until.is_(None), deliveries.c.claimed_until <= now)


def _under_way(conn: Connection, now: datetime) -> dict[int, tuple[int, int]]:
    """Per endpoint, how many of those never tried and how many retries are claimed by anyone."""
    fresh = func.count().filter(deliveries.c.next_attempt.is_(None))
    rows = conn.execute(
        select(deliveries.c.endpoint_id, fresh.label("fresh"), func.count().label("total"))
        .where(deliveries.c.claimed_until > now, deliveries.c.state == "pending")
        .group_by(deliveries.c.endpoint_id)
    )
    return {row.endpoint_id: (row.fresh, row.total - row.fresh) for row in rows}


def _next_of(conn: Connection, now: datetime, endpoint_id: int, room: int, *, first: bool) -> list[tuple[int, str]]:
    """Number and id of the next deliveries to one endpoint: with *first* the oldest never tried, then retries."""
    if room <= 0:
        return []
    waiting = select(deliveries.c.seq, deliveries.c.id).where(
        deliveries.c.endpoint_id == endpoint_id, deliveries.c.state == "pending"
    )
    chosen: list[tuple[int, str]] = []
    if first:
        # Both columns in the order, so that the index gives it: all that are asked for have no next attempt.
        fresh = waiting.where(deliveries.c.next_attempt.is_(None), _unclaimed(now))
        oldest = fresh.order_by(deliveries.c.next_attempt, deliveries.c.seq).limit(1)
        chosen += [(row.seq, row.id) for row in conn.execute(oldest)]
    if len(chosen) < room:
        retries = waiting.where(deliveries.c.next_attempt <= now, _unclaimed(now))
        earliest = retries.order_by(deliveries.c.next_attempt).limit(room - len(chosen))
        chosen += [(row.seq, row.id) for row in conn.execute(earliest)]
    return chosen


def _claims(conn: Connection, chosen: Sequence[str]) -> tuple[Claim, ...]:
    rows = conn.execute(
        select(
            deliveries.c.id,
            deliveries.c.endpoint_id,
            deliveries.c.attempts,
            endpoints.c.url,
            endpoints.c.standard_webhooks,
            events.c.event,
            events.c.body,
        )
        .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
        .join(events, events.c.seq == deliveries.c.seq)
        .where(deliveries.c.id.in_(chosen))
        .order_by(deliveries.c.seq)
    )
    return tuple(
        Claim(row.id, row.endpoint_id, row.url, row.standard_webhooks, row.event, row.body, row.attempts)
        for row in rows
    )
