"""When a delivery is tried, tried again, and given up; when an endpoint is left alone. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

#: Seconds from a failed attempt to the next; after the one that follows the last wait, the delivery is dead.
WAITS: Final = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400)
#: A wait is longer or shorter by up to this part, at random, so that what failed together does not return together.
SPREAD: Final = 0.2
LONGEST_RETRY_AFTER: Final = 86_400
#: Seconds of one whole exchange: name, connection, TLS, request and answer.
EXCHANGE: Final = 10.0
#: Bytes of an answer that are read and kept.
ANSWER: Final = 4096

#: Deliveries under way at once, for one endpoint and in all.
PER_ENDPOINT: Final = 4
IN_ALL: Final = 64
#: Failures in a row that open an endpoint's circuit.
CIRCUIT: Final = 5
#: An endpoint that failed for so long without one success is disabled.
PATIENCE: Final = timedelta(days=5)

#: The status by which a receiver says that it wants nothing any more.
GONE: Final = 410

_OK: Final = range(200, 300)
_RETRY_AFTER: Final = frozenset({429, 503})
_LONGEST_NUMBER: Final = 9


def succeeded(status: int | None) -> bool:
    """Whether an answer with *status* (None: no answer) means that the event has arrived."""
    return status in _OK


def wait_after(attempts: int, chance: float, retry_after: int | None = None) -> float | None:
    """Seconds from the failed attempt number *attempts* (from 1) to the next one; None when it was the last.

    *chance* is a random number from 0 to 1. *retry_after* is what the receiver asked for, in seconds: it can make a
    wait longer, never shorter, because a receiver that always answers "in one second" must not use up all attempts
    within ten.
    """
    if attempts > len(WAITS):
        return None
    wait = WAITS[attempts - 1] * (1 - SPREAD + 2 * SPREAD * chance)
    return max(wait, min(retry_after or 0, LONGEST_RETRY_AFTER))


def asked_to_wait(status: int | None, header: str | None, now: datetime) -> int | None:
    """Seconds that a ``Retry-After`` *header* asks for, at most a day; None where the status gives it no meaning.

    The header holds seconds or an HTTP date; what can't be read, or lies in the past, asks for nothing.
    """
    if status not in _RETRY_AFTER or header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(int(text), LONGEST_RETRY_AFTER) if len(text) <= _LONGEST_NUMBER else LONGEST_RETRY_AFTER
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    seconds = (date - now).total_seconds()
    return min(int(seconds), LONGEST_RETRY_AFTER) if seconds > 0 else None


def lanes(failures: int) -> int:
    """How many deliveries may be under way to an endpoint whose last *failures* attempts failed: one probe, or four."""
    return 1 if failures >= CIRCUIT else PER_ENDPOINT


def reason_to_disable(status: int | None, failing_since: datetime, now: datetime) -> str | None:
    """Why an endpoint is disabled after a failed attempt answered with *status*, or None.

    *failing_since* is the first failure after the last success, so that an endpoint to which there was nothing to send
    for a week is not given up at its first failure.
    """
    if status == GONE:
        return "The receiver answered 410 Gone."
    if now - failing_since >= PATIENCE:
        return f"Not one delivery has succeeded for {PATIENCE.days} days."
    return None
