"""Transactions that record ticks at which the agent was not asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, insert, select, update

from ctfd_twisted.competition.store import read_secret
from ctfd_twisted.db.notices import touch
from ctfd_twisted.koth.keys import MOMENTS
from ctfd_twisted.koth.recording import Moment, locked_hill, tick_row
from ctfd_twisted.koth.rules import Unasked, failures_after
from ctfd_twisted.koth.store import schedule_of
from ctfd_twisted.koth.tables import hills, ticks

#: Ticks that a node's absence left out are recorded in pieces of so many.
AT_ONCE: Final = 500


class CaughtUp(msgspec.Struct, frozen=True):
    """The first tick that is not recorded yet, whether that is all, and how many were missed."""

    next_tick: int
    done: bool
    missed: int = 0


def record_unasked(
    conn: Connection,
    now: datetime,
    holder: str,
    challenge_id: int,
    moments: Sequence[Moment],
    outcome: Unasked,
    detail: str,
) -> int:
    """Record ticks at which the agent was not asked, and return how many; those recorded already are left alone.

    Raises ``NotTheHolder``.
    """
    hill = locked_hill(conn, now, holder, challenge_id)
    if hill is None or not moments:
        return 0
    numbers = [moment.tick for moment in moments]
    recorded = select(ticks.c.tick).where(
        ticks.c.challenge_id == challenge_id, ticks.c.tick.between(min(numbers), max(numbers))
    )
    there = set(conn.execute(recorded).scalars())
    rows = [
        tick_row(challenge_id, moment, outcome=outcome, detail=detail) for moment in moments if moment.tick not in there
    ]
    if rows:
        conn.execute(insert(ticks), rows)
    # A poll is under way while others are overrun: its tick is still owed.
    following = hill.next_tick if outcome == "overrun" else max(hill.next_tick, max(numbers) + 1)
    conn.execute(
        update(hills)
        .where(hills.c.challenge_id == challenge_id)
        .values(next_tick=following, last_outcome=outcome, failures=failures_after(hill.failures, outcome))
    )
    touch(conn, "ticks")
    return len(rows)


def catch_up(conn: Connection, now: datetime, holder: str, challenge_id: int, until: datetime) -> CaughtUp:
    """Record as missed the ticks that were due until *until* and that nobody recorded, :data:`AT_ONCE` at most.

    Raises ``NotTheHolder``.
    """
    hill = locked_hill(conn, now, holder, challenge_id)
    schedule = None if hill is None else schedule_of(hill, read_secret(conn, MOMENTS) or "")
    if hill is None or schedule is None:
        return CaughtUp(0, done=True)
    begin, end = int(hill.next_tick), schedule.last_due(until) + 1
    upto = max(begin, min(end, begin + AT_ONCE))
    moments = [Moment(tick, schedule.due(tick)) for tick in range(begin, upto)]
    detail = "the platform did not poll at that time"
    missed = record_unasked(conn, now, holder, challenge_id, moments, "missed", detail)
    return CaughtUp(upto, done=upto >= end, missed=missed)
