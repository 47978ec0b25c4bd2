"""The dispatcher's transaction: it records what attempts came to, and claims what is sent next.

Attempts that end at the same moment are recorded together, and with them goes who looks for what is due: each statement
is run once for all of them, or sent for all before it is waited for (docs/adr/0084-answers-are-judged-together.md). So
a node never passes over an endpoint because it is itself recording something of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, bindparam, insert, select, update

from ctfd_twisted.db.among import among
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.db.together import ALONE, Alone
from ctfd_twisted.db.types import UTCDateTime
from ctfd_twisted.webhooks.due import by_indexes
from ctfd_twisted.webhooks.endpoints import ACTIVE
from ctfd_twisted.webhooks.outbox import Claims, claim_due, claim_next
from ctfd_twisted.webhooks.outcomes import FREED, WELL, OwedDelivery, Sent, ToldEndpoint
from ctfd_twisted.webhooks.rules import succeeded
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints

#: ``alarm(conn, now, url, reason)`` tells the admins, in the transaction that disables it, of an endpoint that is.
Alarm = Callable[[Connection, datetime, str, str], None]


class Look(Struct, frozen=True):
    """At *now* there is room for so many more deliveries, to whomever they are due."""

    now: datetime
    room: int


class Settled(Struct, frozen=True):
    """What follows: why the endpoint of an attempt was disabled, if it was, and what is claimed."""

    disabled: str | None
    claims: Claims | None


_FOUND: Final = (
    select(
        deliveries.c.id,
        deliveries.c.state,
        deliveries.c.attempts,
        deliveries.c.claimed_by,
        deliveries.c.endpoint_id,
        endpoints.c.url,
        endpoints.c.state.label("endpoint_state"),
        endpoints.c.failures,
        endpoints.c.failing_since,
    )
    .join(endpoints, endpoints.c.id == deliveries.c.endpoint_id)
    .where(among(deliveries.c.id, "ids"))
)
_BOTH: Final = (endpoints, deliveries)
_WAIT_FOR: Final = Ready(_FOUND.with_for_update(key_share=True, of=_BOTH))
_TAKE: Final = Ready(_FOUND.with_for_update(key_share=True, of=_BOTH, skip_locked=True))
_ATTEMPT: Final = Ready(
    insert(attempts),
    ("delivery_id", "number", "started", "latency_ms", "request_headers", "status", "error", "answer"),
)
_ARRIVED: Final = Ready(
    update(deliveries)
    .where(deliveries.c.id == bindparam("which"))
    .values(
        state="delivered",
        attempts=bindparam("number"),
        last_status=bindparam("status"),
        last_error=None,
        latency_ms=bindparam("latency"),
        next_attempt=None,
        **FREED,
    )
)
_HEALTHY: Final = Ready(
    update(endpoints)
    .where(among(endpoints.c.id, "ids"))
    .values(last_success=bindparam("now", type_=UTCDateTime()), **WELL)
)
_SET_DELIVERY: Final = update(deliveries).where(deliveries.c.id == bindparam("which"))
_SET_ENDPOINT: Final = update(endpoints).where(endpoints.c.id == bindparam("which"))


def settle(
    node: str, alarm: Alarm, conn: Connection, asked: Sequence[Sent | Look], *, alone: bool
) -> list[Settled | Exception | Alone]:
    """Record attempts of *node*, and claim what may be sent in their place: one transaction for all (``WriteMany``).

    An endpoint or delivery that was removed meanwhile is nothing to record for; one that another node has claimed
    since, because this one was too slow, is that node's to try again, but a success counts from whomever it comes.
    """
    by_indexes(conn)
    sent = [one for one in asked if isinstance(one, Sent)]
    rows = (_WAIT_FOR if alone else _TAKE).all(conn, {"ids": [one.claim.delivery_id for one in sent]}) if sent else []
    owed = {row.id: OwedDelivery(row) for row in rows}
    told = {row.endpoint_id: ToldEndpoint(row) for row in rows}
    done: list[tuple[Sent | Look, str | None] | None] = []
    for one in asked:
        if isinstance(one, Look):
            done.append((one, None))
        elif one.claim.delivery_id in owed:
            done.append((one, _record(node, one, owed, told)))
        else:
            # It is locked by somebody, or was removed: whoever waits for it alone finds out.
            done.append((one, None) if alone else None)
    _ATTEMPT.run_each(conn, [row for delivery in owed.values() for row in delivery.made])
    _store(conn, owed, told)
    for one, reason in filter(None, done):
        if reason is not None and isinstance(one, Sent):
            touch(conn, "webhooks")
            alarm(conn, one.now, one.claim.url, reason)
    found = _following(conn, node, [one for one, _ in filter(None, done)], list(told))
    following = _shared(found, [0 if one is None else _room(one[0]) for one in done])
    return [ALONE if one is None else Settled(one[1], claims) for one, claims in zip(done, following, strict=True)]


def _record(node: str, sent: Sent, owed: dict[str, OwedDelivery], told: dict[int, ToldEndpoint]) -> str | None:
    """Note what *sent* changes; why its endpoint is disabled by it, if it is."""
    claim, attempt = sent.claim, sent.attempt
    delivery, endpoint = owed[claim.delivery_id], told[claim.endpoint_id]
    arrived = succeeded(attempt.status)
    error = None if arrived else attempt.error or f"The receiver answered {attempt.status}."
    delivery.tried(node, sent, arrived=arrived, error=error)
    if (endpoint.url, endpoint.state) != (claim.url, ACTIVE):
        return None  # what an address did says nothing about the one that took its place
    return endpoint.answered(sent, error)


def _store(conn: Connection, owed: dict[str, OwedDelivery], told: dict[int, ToldEndpoint]) -> None:
    """Write what changed: together what went well, and each of the others for itself."""
    arrived = []
    for which, delivery in owed.items():
        if delivery.changes.get("state") == "delivered":
            status, latency = delivery.changes["last_status"], delivery.changes["latency_ms"]
            arrived.append({"which": which, "number": delivery.attempts, "status": status, "latency": latency})
        else:
            conn.execute(_SET_DELIVERY, {"which": which, **delivery.changes})
    _ARRIVED.run_each(conn, arrived)
    healthy: dict[int, datetime] = {}
    for number, endpoint in told.items():
        if not endpoint.failures and endpoint.state == ACTIVE and "last_success" in endpoint.changes:
            healthy[number] = endpoint.changes["last_success"]
        elif endpoint.changes:
            conn.execute(_SET_ENDPOINT, {"which": number, **endpoint.changes})
    if healthy:
        _HEALTHY.run(conn, {"now": max(healthy.values()), "ids": list(healthy)})


def _room(one: Sent | Look) -> int:
    return one.room if isinstance(one, Look) else int(one.more)


def _following(conn: Connection, node: str, done: Sequence[Sent | Look], locked: Sequence[int]) -> Claims | None:
    """Claim what may be sent next: anything where there was room before, or else what goes where these were sent."""
    room = sum(map(_room, done))
    if not room:
        return None
    now = max(one.now for one in done)
    if any(isinstance(one, Look) or (one.more and one.anywhere) for one in done):
        return claim_due(conn, now, node, room)
    return claim_next(conn, now, node, room, locked)


def _shared(found: Claims | None, rooms: Sequence[int]) -> list[Claims | None]:
    """*found*, given out to those with *rooms* for it."""
    left = [] if found is None else list(found.claims)
    shared: list[Claims | None] = []
    for room in rooms:
        mine, left = left[:room], left[room:]
        shared.append(replace(found, claims=tuple(mine)) if found is not None and mine else None)
    return shared
