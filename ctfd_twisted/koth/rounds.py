"""When one hill's ticks are due, as the clock tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ctfd_twisted.koth.recording import Moment
from ctfd_twisted.koth.schedule import Schedule

#: The least time: what is due at a competition's end is not due any more.
INSTANT: Final = timedelta(microseconds=1)

#: ``turn(moment, passed)``: the tick that is due now, and those before it that had no turn because this process stood
#: still.
Turn = Callable[[Moment, Sequence[Moment]], None]


class Rounds:
    """Gives each tick of a schedule its turn: a ``LoopingCall`` in step with the schedule's grid.

    At each moment of the grid the loop's call gives its tick the turn, or sets a timer where the jitter moves it.
    Numbers come from the clock and the schedule: late by whole intervals, they tell which ticks were passed over.

    :ivar next: the first tick that had no turn.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, turn: Turn) -> None:
        self._clock = clock
        self._turn = turn
        self._loop: LoopingCall | None = None
        self._timer: IDelayedCall | None = None
        self.next = 0

    def start(self, schedule: Schedule, end: datetime | None) -> None:
        """Go on with ``next``, by *schedule* from now on, and without what is due at *end* or later."""
        self.stop()
        loop = self._loop = LoopingCall(self._on_grid, schedule, end)
        loop.clock = self._clock
        if self._is_ahead(schedule, end):
            self._set_timer(schedule.grid(self.next), loop.start, schedule.interval)

    def stop(self) -> None:
        """Give no more turns."""
        self._stop_timer()
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._loop = None

    def _on_grid(self, schedule: Schedule, end: datetime | None) -> None:
        """What the loop calls; it is given nothing to wait for, and no error, which would end it."""
        if self._loop is not None:
            # In step with the grid and not with the instant at which it was started, which may have been late.
            self._loop.starttime = schedule.first.timestamp()
        with self._log.failuresHandled("a turn of hill {hill} failed", hill=schedule.challenge_id):
            self._look(schedule, end)

    def _look(self, schedule: Schedule, end: datetime | None) -> None:
        """Give the tick that is due its turn; if the next is moved behind a moment that has come, set the timer."""
        loop, now = self._loop, self._now()
        if self._is_ahead(schedule, end) and schedule.due(self.next) <= now:
            self._give_turn(schedule, now if end is None else min(now, end - INSTANT))
            if self._loop is not loop:
                return  # stopped meanwhile, or started anew
        if not self._is_ahead(schedule, end):
            self.stop()
        elif schedule.grid(self.next) <= now:
            self._set_timer(schedule.due(self.next), self._look, schedule, end)

    def _give_turn(self, schedule: Schedule, now: datetime) -> None:
        tick = schedule.last_due(now)
        passed = [Moment(number, schedule.due(number)) for number in range(self.next, tick)]
        self.next = tick + 1
        self._turn(Moment(tick, schedule.due(tick)), passed)

    def _is_ahead(self, schedule: Schedule, end: datetime | None) -> bool:
        return end is None or schedule.due(self.next) < end

    def _set_timer(self, moment: datetime, call: Callable[..., object], *args: object) -> None:
        self._stop_timer()
        wait = (moment - self._now()).total_seconds()
        self._timer = self._clock.callLater(max(0.0, wait), call, *args)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)
