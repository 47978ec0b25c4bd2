"""Transactions of the dispatcher: claim what is due, and give claims back.

A claim is a mark with an end on a delivery. Several nodes may claim at once: each takes endpoints that no other is
looking at in that moment, and sees under the endpoint's lock what is under way to it, whoever sends it. So the limits
and the order hold for all nodes together, and what a killed node had claimed is claimed anew when its mark has ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    exists,
    or_,
    select,
    update,
)

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.notices import touch
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.endpoints import ACTIVE
from ctfd_twisted.webhooks.rules import EXCHANGE, lanes
from ctfd_twisted.webhooks.shared_secret import SharedSecret, read_shared_secret
from ctfd_twisted.webhooks.tables import deliveries, endpoints, events

#: How long a claim is believed: one exchange, and time to record it.
CLAIM: Final = timedelta(seconds=EXCHANGE + 5)


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
    return conn.execute(_IS_DUE, {"now": now}).first() is not None


def claim_due(conn: Connection, now: datetime, node: str, room: int, endpoint_id: int | None = None) -> Claims | None:
    """Claim for *node* up to *room* deliveries that are due, at most as many per endpoint as its lanes allow.

    To one endpoint the events that were never tried go one after another in their order, beside retries; while its
    circuit is open there is one lane, and what was never tried comes first. With *endpoint_id* only that endpoint is
    looked at. None where nothing was claimed.
    """
    if endpoint_id is None:
        open_to_us = conn.execute(_DUE, {"now": now}).all()
    else:
        open_to_us = conn.execute(_DUE_ONE, {"now": now, "endpoint": endpoint_id}).all()
    if not open_to_us:
        return None
    under_way = [(row.endpoint_id, bool(row.fresh)) for row in conn.execute(_UNDER_WAY, {"now": now})]
    turns: list[tuple[int, int, str]] = []
    for endpoint in open_to_us:
        fresh, retries = under_way.count((endpoint.id, True)), under_way.count((endpoint.id, False))
        lane = _next_of(conn, now, endpoint.id, lanes(endpoint.failures) - fresh - retries, first=not fresh)
        turns.extend((turn, seq, delivery_id) for turn, (seq, delivery_id) in enumerate(lane))
    # One of each endpoint before the second of any, and the oldest events first: nobody waits for ever.
    chosen = [delivery_id for _, _, delivery_id in sorted(turns)[:room]]
    if not chosen:
        return None
    conn.execute(_CLAIM, {"chosen": chosen, "claimed_by": node, "claimed_until": now + CLAIM})
    claims = tuple(Claim(*row) for row in conn.execute(_CLAIMED, {"chosen": chosen}))
    return Claims(claims, read_shared_secret(conn, now), read_egress(conn))


def release(conn: Connection, node: str) -> None:
    """Give back every claim of *node*, so that another need not wait for its end."""
    conn.execute(update(deliveries).where(deliveries.c.claimed_by == node).values(claimed_by=None, claimed_until=None))
    touch(conn, "webhooks")


def read_egress(conn: Connection) -> Egress:
    """The settings of where webhooks may go."""
    return egress_of(Competition({row.key: row.value for row in conn.execute(_EGRESS)}))


def egress_of(competition: Competition) -> Egress:
    """The same, out of settings that were read already."""
    return Egress.of(competition.text("egress_deny"), private=competition.truthy("egress_private", default=True))


def _next_of(conn: Connection, now: datetime, endpoint_id: int, room: int, *, first: bool) -> list[tuple[int, str]]:
    """Number and id of the next deliveries to one endpoint: with *first* the oldest never tried, then retries."""
    if room <= 0:
        return []
    asked = {"endpoint": endpoint_id, "now": now}
    chosen = [(row.seq, row.id) for row in conn.execute(_OLDEST, asked)] if first else []
    if len(chosen) < room:
        asked["room"] = room - len(chosen)
        chosen += [(row.seq, row.id) for row in conn.execute(_EARLIEST, asked)]
    return chosen


# The statements are made once: to make one takes longer than to run it.

_NOW: Final[Any] = bindparam("now")
_UNCLAIMED: Final = or_(deliveries.c.claimed_until.is_(None), deliveries.c.claimed_until <= _NOW)
_FRESH: Final = deliveries.c.next_attempt.is_(None)
_AGAIN: Final = deliveries.c.next_attempt <= _NOW


def _has_due() -> ColumnElement[bool]:
    # Two questions, because an index answers each at once and the two together not.
    mine = (deliveries.c.endpoint_id == endpoints.c.id, deliveries.c.state == "pending", _UNCLAIMED)
    return and_(endpoints.c.state == ACTIVE, or_(exists().where(*mine, _FRESH), exists().where(*mine, _AGAIN)))


def _waiting(which: ColumnElement[bool]) -> Select[Any]:
    return select(deliveries.c.seq, deliveries.c.id).where(
        deliveries.c.endpoint_id == bindparam("endpoint"), deliveries.c.state == "pending", which, _UNCLAIMED
    )


_IS_DUE: Final = select(endpoints.c.id).where(_has_due()).limit(1)
_DUE: Final = (
    select(endpoints.c.id, endpoints.c.failures)
    .where(_has_due())
    .order_by(endpoints.c.id)
    .with_for_update(key_share=True, skip_locked=True)
)
_DUE_ONE: Final = _DUE.where(endpoints.c.id == bindparam("endpoint"))
# Not counted by the database: to group by endpoint it would read all deliveries there ever were.
_UNDER_WAY: Final = select(deliveries.c.endpoint_id, _FRESH.label("fresh")).where(
    deliveries.c.claimed_until > _NOW, deliveries.c.state == "pending"
)
# Ordered by both columns, so that the index gives the order: all that are asked for have no next attempt.
_OLDEST: Final = _waiting(_FRESH).order_by(deliveries.c.next_attempt, deliveries.c.seq).limit(1)
_EARLIEST: Final = _waiting(_AGAIN).order_by(deliveries.c.next_attempt).limit(bindparam("room"))
_CHOSEN: Final = deliveries.c.id.in_(bindparam("chosen", expanding=True))
_CLAIM: Final = update(deliveries).where(_CHOSEN)
_CLAIMED: Final = (
    select(
        deliveries.c.id,
        deliveries.c.endpoint_id,
        endpoints.c.url,
        endpoints.c.standard_webhooks,
        events.c.event,
        events.c.body,
        deliveries.c.attempts,
    )
    .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
    .join(events, events.c.seq == deliveries.c.seq)
    .where(_CHOSEN)
    .order_by(deliveries.c.seq)
)
_EGRESS: Final = (
    select(config.c.key, config.c.value)
    .where(config.c.key.in_(("egress_deny", "egress_private")))
    .order_by(config.c.id.desc())
)
