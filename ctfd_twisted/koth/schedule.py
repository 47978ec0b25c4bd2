"""When ticks are due. Pure.

Tick *k* of a hill is due at ``first + k * interval``, moved by a secret part of the jitter. Nothing else enters: not
how long a poll took, nor how long a node was away. So the moments can be told in advance by whoever knows the secret,
and checked by everybody once it is published.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

import msgspec

#: The pseudo-random number that moves a tick has so many bits.
_BITS: Final = 64
_MICROSECOND: Final = timedelta(microseconds=1)


class Schedule(msgspec.Struct, frozen=True):
    """The moments of one hill's ticks: ``interval`` and ``jitter`` in seconds, ``secret`` the competition's."""

    challenge_id: int
    first: datetime
    interval: int
    jitter: float
    secret: str

    def grid(self, tick: int) -> datetime:
        """The moment of *tick* without its jitter, which is what players are told."""
        return self.first + timedelta(seconds=tick * self.interval)

    def due(self, tick: int) -> datetime:
        """The moment of *tick*."""
        return self.grid(tick) + shift(self.secret, self.challenge_id, tick, self.jitter)

    def last_due(self, now: datetime) -> int:
        """The number of the last tick that is due at *now* or before; -1 before the first."""
        on_grid = (now - self.first) // timedelta(seconds=self.interval)
        if on_grid < 0:
            return -1
        # The jitter is at most half of the interval, so only the tick that the grid has just begun may still lie ahead.
        return on_grid if self.due(on_grid) <= now else on_grid - 1

    def next_due(self, now: datetime) -> int:
        """The number of the first tick that is due at *now* or later."""
        last = self.last_due(now)
        return last if last >= 0 and self.due(last) == now else last + 1


def shift(secret: str, challenge_id: int, tick: int, jitter: float) -> timedelta:
    """How far *tick* is moved: the same for everyone who knows *secret*, at least 0, and less than *jitter* seconds.

    The first 8 bytes of ``HMAC-SHA256(secret, "<challenge_id>:<tick>")``, read as a big-endian number and divided by
    2**64, are the part of the jitter; fractions of a microsecond are dropped.
    """
    width = timedelta(seconds=jitter) // _MICROSECOND
    if not width:
        return timedelta(0)
    digest = hmac.digest(secret.encode(), f"{challenge_id}:{tick}".encode(), "sha256")
    number = int.from_bytes(digest[: _BITS // 8], "big")
    return timedelta(microseconds=(width * number) >> _BITS)


def commitment(secret: str) -> str:
    """What is published of *secret* before the end: its SHA-256, in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def first_tick_from(moment: datetime) -> datetime:
    """The moment of tick 0 of a hill that may be polled from *moment* on: the next whole second."""
    whole = moment.replace(microsecond=0)
    return moment if moment == whole else whole + timedelta(seconds=1)


def moved_first_tick(first: datetime, old: int, new: int, next_tick: int, now: datetime) -> datetime:
    """Tick 0's moment after a change of the interval from *old* to *new* seconds.

    Numbers go on where they stood, so that no number is used twice: *next_tick* is due when it would have been, but not
    later than one new interval from now, nor in the past.
    """
    due = min(max(first + timedelta(seconds=next_tick * old), now), now + timedelta(seconds=new))
    return due - timedelta(seconds=next_tick * new)
