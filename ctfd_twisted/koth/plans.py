"""Transactions by which the poller learns what is to be polled, and notes what began and what stopped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, select, update

from ctfd_twisted.challenges.rules import has_ended
from ctfd_twisted.challenges.tables import challenge_ends, challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition, read_secret
from ctfd_twisted.db.leases import holds
from ctfd_twisted.db.notices import touch
from ctfd_twisted.koth.keys import MOMENTS, ensure_secrets, renew_published
from ctfd_twisted.koth.recording import LEASE, NotTheHolder, tell_of_king
from ctfd_twisted.koth.rules import NO_REIGN
from ctfd_twisted.koth.schedule import Schedule, first_tick_from, moved_first_tick
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.store import reign_of, reign_values, schedule_of, settings_of
from ctfd_twisted.koth.tables import hills

#: The competition runs strictly between its bounds: what changes at one is seen so much later.
_AFTER: Final = timedelta(milliseconds=1)


class PlannedHill(msgspec.Struct, frozen=True):
    """One hill as the poller needs it. ``schedule`` is None before its first tick."""

    challenge_id: int
    settings: HillSettings
    schedule: Schedule | None
    next_tick: int
    running: bool
    visible: bool
    opens_at: datetime | None
    ends_at: datetime | None
    reset_asked: bool
    resetting_since: datetime | None
    last_reset: datetime | None

    def is_open(self, now: datetime) -> bool:
        """Whether players may see and take the hill at *now*."""
        return self.visible and (self.opens_at is None or self.opens_at <= now) and not has_ended(self.ends_at, now)

    def next_reset(self) -> datetime | None:
        """When the target is to be reset; None where no reset is to come."""
        if self.settings.reset_url is None:
            return None
        if self.resetting_since is not None:
            return self.resetting_since
        if self.reset_asked:
            return self.last_reset
        if self.settings.reset_every is None or self.last_reset is None:
            return None
        return self.last_reset + timedelta(minutes=self.settings.reset_every)


class Plan(msgspec.Struct, frozen=True):
    """Every hill, and the competition that decides with them when ticks are due."""

    competition: Competition
    hills: tuple[PlannedHill, ...] = ()

    def end_of(self, hill: PlannedHill) -> datetime | None:
        """From when on no ticks of *hill* are due: the end of the competition, or the hill's own before it."""
        end = self.competition.end
        ends = [datetime.fromtimestamp(end, UTC)] if end else []
        return min([*ends, hill.ends_at] if hill.ends_at is not None else ends, default=None)

    def polled(self, now: datetime) -> bool:
        """Whether the competition lets any hill be polled at *now*."""
        competition = self.competition
        return competition.is_set_up and not competition.paused and competition.running(now)

    def next_change(self, now: datetime) -> datetime | None:
        """When after *now* the clock alone changes which hills are polled: after a start, an end, a release."""
        bounds = [moment for moment in (self.competition.start, self.competition.end) if moment]
        moments = [datetime.fromtimestamp(bound, now.tzinfo) for bound in bounds]
        for hill in self.hills:
            if hill.visible:
                moments += [moment for moment in (hill.opens_at, hill.ends_at) if moment is not None]
        return min((moment + _AFTER for moment in moments if moment + _AFTER > now), default=None)


def read_plan(conn: Connection) -> Plan:
    """What there is to poll."""
    competition = read_competition(conn)
    secret = read_secret(conn, MOMENTS) or ""
    found = conn.execute(
        select(hills, challenges.c.state, challenges.c.scheduled_at, challenge_ends.c.ends_at)
        .join(challenges, challenges.c.id == hills.c.challenge_id)
        .outerjoin(challenge_ends, challenge_ends.c.challenge_id == challenges.c.id)
        .where(challenges.c.type == "koth")
    )
    return Plan(competition, tuple(_planned(row, secret) for row in found))


def begin(conn: Connection, now: datetime, holder: str, challenge_ids: Iterable[int]) -> None:
    """Note that these hills are polled from *now* on. Raises ``NotTheHolder``.

    The first time that is the moment of tick 0. Later the numbers go on along the same grid: what would have been due
    while the hill rested was not due, and its numbers are left out.
    """
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    ensure_secrets(conn)
    renew_published(conn)
    secret = read_secret(conn, MOMENTS) or ""
    wanted = select(hills).where(hills.c.challenge_id.in_(list(challenge_ids))).with_for_update()
    for row in conn.execute(wanted).all():
        schedule = schedule_of(row, secret)
        first = first_tick_from(now) if schedule is None else schedule.first
        next_tick = 0 if schedule is None else max(row.next_tick, schedule.next_due(now))
        conn.execute(
            update(hills)
            .where(hills.c.challenge_id == row.challenge_id)
            .values(running=True, first_tick=first, next_tick=next_tick, last_reset=row.last_reset or first)
        )
    touch(conn, "hills")


def rest(conn: Connection, now: datetime, holder: str, challenge_ids: Iterable[int]) -> None:
    """Note that these hills are not polled any more. Raises ``NotTheHolder``."""
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    conn.execute(update(hills).where(hills.c.challenge_id.in_(list(challenge_ids))).values(running=False))
    touch(conn, "hills")


def pull_in(conn: Connection, now: datetime, holder: str, challenge_id: int, tick: int) -> None:
    """Let *tick*, the next of a hill, be due within one interval from *now*. Raises ``NotTheHolder``.

    Numbers can run ahead of the schedule when ticks are recorded while the interval is changed.
    """
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    row = conn.execute(select(hills).where(hills.c.challenge_id == challenge_id).with_for_update()).one_or_none()
    if row is None or row.first_tick is None:
        return
    first = moved_first_tick(row.first_tick, row.interval, row.interval, tick, now)
    conn.execute(update(hills).where(hills.c.challenge_id == challenge_id).values(first_tick=first))
    touch(conn, "hills")


def ask_reset(conn: Connection, challenge_id: int) -> bool:
    """Ask for a reset of a hill's target as soon as may be; False where it has no URL for that."""
    asked = conn.execute(
        update(hills)
        .where(hills.c.challenge_id == challenge_id, hills.c.reset_url.is_not(None))
        .values(reset_asked=True)
    )
    touch(conn, "hills")
    return bool(asked.rowcount)


def begin_reset(conn: Connection, now: datetime, holder: str, challenge_id: int) -> None:
    """Note that a reset is under way from *now* on. Raises ``NotTheHolder``."""
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    conn.execute(
        update(hills)
        .where(hills.c.challenge_id == challenge_id)
        .values(resetting_since=now, last_reset=now, reset_asked=False, reset_problem=None)
    )


def end_reset(conn: Connection, now: datetime, holder: str, challenge_id: int, problem: str | None) -> None:
    """Note how a reset has ended: where there was no *problem*, nobody holds the hill now. Raises ``NotTheHolder``."""
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    row = conn.execute(select(hills).where(hills.c.challenge_id == challenge_id).with_for_update()).one_or_none()
    if row is None:
        return
    before = reign_of(row)
    after = NO_REIGN if problem is None else before
    conn.execute(
        update(hills)
        .where(hills.c.challenge_id == challenge_id)
        .values(resetting_since=None, reset_problem=problem, **reign_values(after))
    )
    touch(conn, "hills")
    tell_of_king(conn, now, challenge_id, before, after, now, teams_mode=read_competition(conn).teams)


def _planned(row: Row[Any], secret: str) -> PlannedHill:
    return PlannedHill(
        challenge_id=row.challenge_id,
        settings=settings_of(row),
        schedule=schedule_of(row, secret),
        next_tick=row.next_tick,
        running=row.running,
        visible=row.state == "visible",
        opens_at=row.scheduled_at,
        ends_at=row.ends_at,
        reset_asked=row.reset_asked,
        resetting_since=row.resetting_since,
        last_reset=row.last_reset,
    )
