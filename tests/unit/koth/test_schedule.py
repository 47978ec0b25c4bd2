"""The moments of ticks, as properties."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.koth.schedule import Schedule, commitment, first_tick_from, moved_first_tick, shift

FIRST = datetime(2026, 3, 14, 12, tzinfo=UTC)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    interval = draw(st.integers(1, 86_400))
    jitter = draw(st.floats(0, interval / 2))
    return Schedule(draw(st.integers(1, 1000)), FIRST, interval, jitter, draw(st.text(min_size=1, max_size=8)))


moments = st.datetimes(datetime(2026, 3, 1), datetime(2026, 5, 1), timezones=st.just(UTC))  # noqa: DTZ001 - made aware


def test_without_jitter_ticks_lie_on_the_grid() -> None:
    schedule = Schedule(1, FIRST, 60, 0, "s")
    assert [schedule.due(k) for k in (0, 1, 1000)] == [FIRST + timedelta(seconds=60 * k) for k in (0, 1, 1000)]


@given(schedules(), st.integers(0, 100_000))
def test_ticks_are_due_one_after_the_other_and_at_least_half_an_interval_apart(schedule: Schedule, tick: int) -> None:
    assert schedule.due(tick + 1) - schedule.due(tick) >= timedelta(seconds=schedule.interval / 2)
    assert schedule.grid(tick) <= schedule.due(tick) <= schedule.grid(tick) + timedelta(seconds=schedule.jitter)


@given(schedules(), moments)
def test_the_last_due_tick_is_the_last(schedule: Schedule, now: datetime) -> None:
    last = schedule.last_due(now)
    assert last == -1 or schedule.due(last) <= now
    assert schedule.due(last + 1) > now


@given(schedules(), moments)
def test_the_next_due_tick_is_the_first_that_does_not_lie_behind(schedule: Schedule, now: datetime) -> None:
    tick = schedule.next_due(now)
    assert schedule.due(tick) >= now
    assert tick == 0 or schedule.due(tick - 1) < now


@given(schedules(), st.integers(0, 10_000))
def test_a_tick_is_due_at_its_own_moment(schedule: Schedule, tick: int) -> None:
    assert schedule.last_due(schedule.due(tick)) == tick
    assert schedule.next_due(schedule.due(tick)) == tick


def test_anybody_who_knows_the_secret_computes_the_same_moment() -> None:
    secret, jitter = "5f" * 32, 20.0
    number = int.from_bytes(hmac.new(secret.encode(), b"7:1234", hashlib.sha256).digest()[:8], "big")
    assert abs(shift(secret, 7, 1234, jitter).total_seconds() - jitter * number / 2**64) < 0.000_002


def test_the_commitment_is_the_hash_of_the_secret_as_it_is_published() -> None:
    assert commitment("abc") == hashlib.sha256(b"abc").hexdigest()


def test_jitter_spreads_over_its_whole_width() -> None:
    moved = [shift("s", 1, tick, 10.0).total_seconds() for tick in range(2000)]
    assert min(moved) < 0.1
    assert max(moved) > 9.9
    assert 4.5 < sum(moved) / len(moved) < 5.5


def test_the_first_tick_is_at_a_whole_second_and_never_in_the_past() -> None:
    assert first_tick_from(FIRST) == FIRST
    assert first_tick_from(FIRST + timedelta(microseconds=1)) == FIRST + timedelta(seconds=1)


@given(
    old=st.integers(1, 86_400), new=st.integers(1, 86_400), tick=st.integers(0, 10_000), late=st.integers(-5000, 90_000)
)
def test_after_a_change_of_the_interval_the_numbers_go_on(old: int, new: int, tick: int, late: int) -> None:
    now = FIRST + timedelta(seconds=tick * old + late)
    first = moved_first_tick(FIRST, old, new, tick, now)
    due = Schedule(1, first, new, 0, "s").due(tick)
    assert now <= due <= now + timedelta(seconds=new)
    if late <= 0 and -late <= new:
        assert due == FIRST + timedelta(seconds=tick * old)
