"""One hill's ticks over a Clock: each has its turn once, at its moment, whatever became of the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from ctfd_twisted.koth.recording import Moment
from ctfd_twisted.koth.rounds import Rounds
from ctfd_twisted.koth.schedule import Schedule

START = datetime(2026, 3, 14, 12, tzinfo=UTC)


class Hill:
    """Rounds from ``START`` on, and the turns that they gave: when, which tick, which were passed over."""

    def __init__(self, interval: int = 10, jitter: float = 0.0) -> None:
        self.clock = Clock()
        self.clock.advance(START.timestamp())
        self.schedule = Schedule(7, START, interval, jitter, "secret")
        self.turns: list[tuple[float, int, list[int]]] = []
        self.then: Callable[[], object] = lambda: None
        self.rounds = Rounds(self.clock, self._turn)

    def _turn(self, moment: Moment, passed: Sequence[Moment]) -> None:
        assert moment.due == self.schedule.due(moment.tick)
        assert all(one.due == self.schedule.due(one.tick) for one in passed)
        self.turns.append((self.seconds, moment.tick, [one.tick for one in passed]))
        self.then()

    @property
    def seconds(self) -> float:
        return self.clock.seconds() - START.timestamp()

    def start(self, end: float | None = None) -> None:
        self.rounds.start(self.schedule, None if end is None else START + timedelta(seconds=end))

    def due(self, tick: int) -> float:
        return (self.schedule.due(tick) - START).total_seconds()


def test_turns_are_on_the_grid_also_when_the_first_was_late() -> None:
    hill = Hill()
    hill.clock.advance(3.25)
    hill.start()
    hill.clock.pump([0, *[0.25] * 80])
    assert hill.turns == [(3.25, 0, []), (10, 1, []), (20, 2, [])]
    hill.rounds.stop()
    assert hill.clock.getDelayedCalls() == []


def test_jitter_moves_turns_within_their_interval() -> None:
    hill = Hill(jitter=5)
    hill.start()
    hill.clock.pump([0.001] * 50_000)
    assert [tick for _, tick, _ in hill.turns] == [0, 1, 2, 3, 4]
    for when, tick, passed in hill.turns:
        assert hill.due(tick) - 0.000_001 <= when <= hill.due(tick) + 0.0011
        assert passed == []


def test_what_a_process_slept_through_is_passed_over_and_the_next_is_on_time() -> None:
    hill = Hill()
    hill.start()
    hill.clock.pump([0, 10, 33, 7])
    assert hill.turns == [(0, 0, []), (10, 1, []), (43, 4, [2, 3]), (50, 5, [])]


def test_a_tick_that_jitter_moves_behind_a_late_call_is_not_left_out() -> None:
    hill = Hill(jitter=5)
    hill.start()
    hill.clock.advance(hill.due(0))
    # Asleep until the next moment but one of the grid, at which the tick before is late and its own is still to come.
    hill.clock.advance(20.0 - hill.seconds)
    assert hill.due(2) > 20
    hill.clock.pump([0.01] * 1000)
    assert [(tick, passed) for _, tick, passed in hill.turns] == [(0, []), (1, []), (2, [])]
    assert hill.turns[2][0] == pytest.approx(hill.due(2), abs=0.011)


def test_nothing_is_due_at_the_end_or_later_however_late_it_is() -> None:
    hill = Hill()
    hill.start(end=30)
    hill.clock.pump([0, 10, 50, 50])
    assert [(tick, passed) for _, tick, passed in hill.turns] == [(0, []), (1, []), (2, [])]
    assert hill.clock.getDelayedCalls() == []
    hill.start(end=30)
    assert hill.clock.getDelayedCalls() == []


def test_a_turn_that_fails_costs_itself_alone() -> None:
    hill = Hill()
    hill.then = lambda: 1 / 0
    hill.start()
    with capturedLogs() as seen:
        hill.clock.pump([0, 10, 10])
    assert [tick for _, tick, _ in hill.turns] == [0, 1, 2]
    assert [event["log_failure"].type for event in seen] == [ZeroDivisionError] * 3


@pytest.mark.parametrize("jitter", [0.0, 5.0])
def test_a_turn_may_start_its_rounds_anew(jitter: float) -> None:
    hill = Hill(jitter=jitter)
    hill.then = hill.start
    hill.start()
    hill.clock.pump([0.5] * 61)
    assert [tick for _, tick, _ in hill.turns] == [0, 1, 2, *([3] if not jitter else [])]
    hill.then = hill.rounds.stop
    hill.clock.advance(20)
    assert hill.clock.getDelayedCalls() == []


@given(
    interval=st.integers(1, 5),
    part=st.floats(0, 0.5),
    begin=st.floats(0, 20),
    steps=st.lists(st.floats(0, 7), max_size=60),
)
def test_every_tick_has_its_turn_or_is_passed_over_once_and_in_order(
    interval: int, part: float, begin: float, steps: list[float]
) -> None:
    hill = Hill(interval, interval * part)
    hill.clock.advance(begin)
    hill.start()
    hill.clock.pump([0, *steps])
    told = [number for _, tick, passed in hill.turns for number in (*passed, tick)]
    last = hill.schedule.last_due(datetime.fromtimestamp(hill.clock.seconds(), UTC))
    assert told == list(range(len(told)))
    # But for rounding to microseconds all that was due is told.
    assert last - 1 <= len(told) - 1 <= last + 1
    assert all(hill.due(tick) <= when + 0.000_002 for when, tick, _ in hill.turns)
    hill.rounds.stop()
    assert hill.clock.getDelayedCalls() == []
