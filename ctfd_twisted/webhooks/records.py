"""Transactions of the dispatcher: what an attempt came to, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, bindparam, insert, select, update

from ctfd_twisted.db.notices import touch
from ctfd_twisted.webhooks.endpoints import ACTIVE, DISABLED
from ctfd_twisted.webhooks.outbox import Claim, Claims, claim_due
from ctfd_twisted.webhooks.rules import GONE, asked_to_wait, reason_to_disable, succeeded, wait_after
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints

Headers = tuple[tuple[str, str], ...]
#: ``alarm(conn, now, url, reason)`` tells the admins, in the transaction that disables it, of an endpoint that is.
Alarm = Callable[[Connection, datetime, str, str], None]

_FREED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until": None}


class Attempt(Struct, frozen=True):
    """What one attempt came to: an answer with a *status*, or an *error*."""

    started: datetime
    latency_ms: int
    request_headers: Headers
    status: int | None
    error: str | None
    answer: bytes
    retry_after: str | None = None


class Settled(Struct, frozen=True):
    """What a recorded attempt leads to: why its endpoint was disabled, if it was, and what is claimed next."""

    disabled: str | None
    claims: Claims | None


_ENDPOINT: Final = (
    select(endpoints.c.url, endpoints.c.state, endpoints.c.failures, endpoints.c.failing_since)
    .where(endpoints.c.id == bindparam("endpoint"))
    .with_for_update(key_share=True)
)
_DELIVERY: Final = (
    select(deliveries.c.state, deliveries.c.attempts, deliveries.c.claimed_by)
    .where(deliveries.c.id == bindparam("delivery"))
    .with_for_update()
)
_ATTEMPT: Final = insert(attempts)
_SET_DELIVERY: Final = update(deliveries).where(deliveries.c.id == bindparam("which"))
_SET_ENDPOINT: Final = update(endpoints).where(endpoints.c.id == bindparam("which"))


def settle(
    conn: Connection,
    now: datetime,
    node: str,
    claim: Claim,
    attempt: Attempt,
    chance: float,
    alarm: Alarm,
    room: int,
    endpoint_id: int | None = None,
) -> Settled:
    """Record an attempt, and claim as ``claim_due`` does what may be sent next: one transaction instead of two."""
    disabled = record_attempt(conn, now, node, claim, attempt, chance)
    if disabled is not None:
        alarm(conn, now, claim.url, disabled)
    return Settled(disabled, claim_due(conn, now, node, room, endpoint_id) if room else None)


def record_attempt(
    conn: Connection, now: datetime, node: str, claim: Claim, attempt: Attempt, chance: float
) -> str | None:
    """Store what an attempt came to, and what follows for its delivery and its endpoint.

    Returns why the endpoint is disabled by it, if it is. *chance* is a random number from 0 to 1 that spreads the next
    attempt. An endpoint or delivery that was removed meanwhile is nothing to record for; one that another node has
    claimed since, because this one was too slow, is that node's to try again, but a success counts from whomever it
    comes.
    """
    endpoint = conn.execute(_ENDPOINT, {"endpoint": claim.endpoint_id}).first()
    delivery = conn.execute(_DELIVERY, {"delivery": claim.delivery_id}).first()
    if endpoint is None or delivery is None:
        return None
    number = delivery.attempts + 1
    arrived = succeeded(attempt.status)
    error = None if arrived else attempt.error or f"The receiver answered {attempt.status}."
    conn.execute(
        _ATTEMPT,
        {
            "delivery_id": claim.delivery_id,
            "number": number,
            "started": attempt.started,
            "latency_ms": attempt.latency_ms,
            "request_headers": [list(header) for header in attempt.request_headers],
            "status": attempt.status,
            "error": error,
            "answer": attempt.answer,
        },
    )
    told: dict[str, Any] = {"attempts": number}
    if arrived or delivery.state == "pending":
        told |= {"last_status": attempt.status, "last_error": error, "latency_ms": attempt.latency_ms}
    if arrived:
        told |= _FREED | {"state": "delivered", "next_attempt": None}
    elif delivery.state == "pending" and delivery.claimed_by == node:
        told |= _FREED | _after_failure(now, number, attempt, chance)
    conn.execute(_SET_DELIVERY, {"which": claim.delivery_id, **told})
    if (endpoint.url, endpoint.state) != (claim.url, ACTIVE):
        return None  # what an address did says nothing about the one that took its place
    health: dict[str, Any] = {"last_success": now, "last_error": None, "failures": 0, "failing_since": None}
    disabled = None
    if error is not None:
        since = endpoint.failing_since or now
        health = {"last_error": error, "failures": endpoint.failures + 1, "failing_since": since}
        disabled = reason_to_disable(attempt.status, since, now)
    if disabled is not None:
        health |= {"state": DISABLED, "last_error": disabled}
        touch(conn, "webhooks")
    conn.execute(_SET_ENDPOINT, {"which": claim.endpoint_id, **health})
    return disabled


def _after_failure(now: datetime, number: int, attempt: Attempt, chance: float) -> dict[str, Any]:
    wait = wait_after(number, chance, asked_to_wait(attempt.status, attempt.retry_after, now))
    if wait is None or attempt.status == GONE:
        return {"state": "dead", "next_attempt": None}
    return {"next_attempt": now + timedelta(seconds=wait)}
