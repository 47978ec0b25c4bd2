"""What an attempt came to, and what follows from it for its delivery and its endpoint, before anything is stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from ctfd_twisted.webhooks.endpoints import DISABLED
from ctfd_twisted.webhooks.outbox import Claim
from ctfd_twisted.webhooks.rules import GONE, asked_to_wait, reason_to_disable, wait_after

Headers = tuple[tuple[str, str], ...]

#: The columns of a delivery that nobody is sending, and of an endpoint that has not failed since it last succeeded.
FREED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until": None}
WELL: Final[dict[str, Any]] = {"last_error": None, "failures": 0, "failing_since": None}


class Attempt(Struct, frozen=True):
    """What one attempt came to: an answer with a *status*, or an *error*."""

    started: datetime
    latency_ms: int
    request_headers: Headers
    status: int | None
    error: str | None
    answer: bytes
    retry_after: str | None = None


class Sent(Struct, frozen=True):
    """A claim, and what its attempt came to at *now*.

    *chance* is a random number from 0 to 1 that spreads the next attempt. *more*: something else may be sent in its
    place, *anywhere* or to this endpoint only.
    """

    now: datetime
    claim: Claim
    attempt: Attempt
    chance: float
    more: bool
    anywhere: bool


class OwedDelivery:
    """A delivery that is locked: the attempts that are stored of it, and what else is changed by them."""

    __slots__ = ("attempts", "changes", "claimed_by", "made", "state")

    def __init__(self, row: Any) -> None:
        self.state: str = row.state
        self.attempts: int = row.attempts
        self.claimed_by: str | None = row.claimed_by
        self.made: list[dict[str, Any]] = []
        self.changes: dict[str, Any] = {}

    def tried(self, node: str, sent: Sent, *, arrived: bool, error: str | None) -> None:
        """Note one more attempt, by *node*."""
        attempt = sent.attempt
        self.attempts += 1
        self.made.append(
            {
                "delivery_id": sent.claim.delivery_id,
                "number": self.attempts,
                "started": attempt.started,
                "latency_ms": attempt.latency_ms,
                "request_headers": [list(header) for header in attempt.request_headers],
                "status": attempt.status,
                "error": error,
                "answer": attempt.answer,
            }
        )
        self.changes["attempts"] = self.attempts
        if arrived or self.state == "pending":
            self.changes |= {"last_status": attempt.status, "last_error": error, "latency_ms": attempt.latency_ms}
        if arrived:
            self._change(FREED | {"state": "delivered", "next_attempt": None})
        elif self.state == "pending" and self.claimed_by == node:
            self._change(FREED | _after_failure(sent, self.attempts))

    def _change(self, changes: dict[str, Any]) -> None:
        self.changes |= changes
        self.state = changes.get("state", self.state)
        self.claimed_by = None


class ToldEndpoint:
    """An endpoint that is locked, and what is changed of it."""

    __slots__ = ("changes", "failing_since", "failures", "state", "url")

    def __init__(self, row: Any) -> None:
        self.url: str = row.url
        self.state: str = row.endpoint_state
        self.failures: int = row.failures
        self.failing_since: datetime | None = row.failing_since
        self.changes: dict[str, Any] = {}

    def answered(self, sent: Sent, error: str | None) -> str | None:
        """Note what it did, and give back why it is disabled by it, if it is."""
        if error is None:
            self.failures, self.failing_since = 0, None
            self.changes |= {"last_success": sent.now, **WELL}
            return None
        self.failures += 1
        self.failing_since = self.failing_since or sent.now
        self.changes |= {"last_error": error, "failures": self.failures, "failing_since": self.failing_since}
        disabled = reason_to_disable(sent.attempt.status, self.failing_since, sent.now)
        if disabled is not None:
            self.state = DISABLED
            self.changes |= {"state": DISABLED, "last_error": disabled}
        return disabled


def _after_failure(sent: Sent, number: int) -> dict[str, Any]:
    attempt = sent.attempt
    wait = wait_after(number, sent.chance, asked_to_wait(attempt.status, attempt.retry_after, sent.now))
    if wait is None or attempt.status == GONE:
        return {"state": "dead", "next_attempt": None}
    return {"next_attempt": sent.now + timedelta(seconds=wait)}
