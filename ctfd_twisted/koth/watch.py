"""One hill under watch: its rounds, and at most one poll under way."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from ctfd_twisted.http.dates import iso
from ctfd_twisted.koth.office import Office
from ctfd_twisted.koth.plans import PlannedHill, begin_reset, end_reset, pull_in
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.recording import Moment
from ctfd_twisted.koth.rounds import INSTANT, Rounds
from ctfd_twisted.koth.rules import Unasked
from ctfd_twisted.koth.skipping import catch_up

#: Seconds between two looks whether a target that is being reset has no owner any more, and for how long they go on.
LOOK: Final = 2.0
LONGEST_RESET: Final = timedelta(minutes=5)


class Watch:
    """Polls one hill at its moments, while it is open.

    Nothing that happens to a poll moves a tick. What is still under way when the next tick is due overruns that one.
    """

    def __init__(self, office: Office, hill: PlannedHill) -> None:
        self._office = office
        self.hill = hill
        self._end: datetime | None = None
        self._rounds = Rounds(office.clock, self._tick)
        self._reset_timer: IDelayedCall | None = None
        self._polling = False
        self._resetting = False
        self._catching_up = False
        self._work: set[Deferred[None]] = set()
        self.open = False

    # The life of a watch

    def begin(self, hill: PlannedHill, end: datetime | None, *, caught_up: bool) -> None:
        """Watch *hill* until *end*; unless *caught_up*, first record as missed what was due and not polled."""
        self.hill, self._end, self.open = hill, end, True
        if caught_up:
            self._set_out()
        else:
            self._spawn(self._catch_up(), "catching up")

    def update(self, hill: PlannedHill, end: datetime | None) -> None:
        """Go on with new settings, from the next tick on."""
        moved = hill.schedule != self.hill.schedule or end != self._end
        self.hill, self._end = hill, end
        if self._catching_up:
            return  # what comes after that is done with what is known by then
        if moved:
            self._set_out()
        else:
            self._await_reset()

    def rest(self) -> None:
        """Begin nothing more; a poll under way is finished and recorded."""
        self.open = False
        self._rounds.stop()
        self._stop_reset_timer()

    def abandon(self) -> None:
        """Rest, and give up what is under way: another node has the lease."""
        self.rest()
        for work in tuple(self._work):
            work.cancel()

    def under_way(self) -> tuple[Deferred[None], ...]:
        """What is not finished yet; each fires when it is, and never fails."""
        return tuple(self._work)

    async def catch_up(self, until: datetime) -> None:
        """Record as missed what was due until *until* and is not recorded; the next tick is the one after that."""
        done = False
        while not done:
            piece = await self._office.note(catch_up, self.hill.challenge_id, until)
            self._rounds.next, done = max(self._rounds.next, piece.next_tick), piece.done
            self._office.count(self.hill.challenge_id, "missed", piece.missed)

    async def _catch_up(self) -> None:
        self._catching_up = True
        try:
            # Whoever polled before us may have left ticks behind. What becomes due while these are written is
            # recorded in the next round, until there is nothing to write.
            before = -1
            while self.open and before != self._rounds.next:
                before = self._rounds.next
                await self.catch_up(self._before_end())
        finally:
            self._catching_up = False
        if self.open:
            self._set_out()

    def _before_end(self) -> datetime:
        now = self._office.now()
        return now if self._end is None else min(now, self._end - INSTANT)

    # Ticks

    def _set_out(self) -> None:
        self._rounds.stop()
        schedule = self.hill.schedule
        if schedule is not None:
            # A poll that is under way has a number that is not recorded yet.
            following = self._rounds.next = max(self._rounds.next, self.hill.next_tick)
            self._rounds.start(schedule, self._end)
            wait = (schedule.due(following) - self._office.now()).total_seconds()
            if wait > schedule.interval + schedule.jitter:
                note = self._office.note(pull_in, self.hill.challenge_id, following)
                self._spawn(note, "pulling in the schedule")
        self._await_reset()

    def _tick(self, moment: Moment, passed: Sequence[Moment]) -> None:
        if not self._office.leads():
            return
        if self._resetting:
            self._skip([*passed, moment], "resetting", "the target is being reset")
        elif self._polling:
            self._skip([*passed, moment], "overrun", "an earlier poll was still under way")
        else:
            self._skip(passed, "missed", "the platform did not poll at that time")
            self._polling = True
            self._spawn(self._poll(moment), "a poll")

    def _skip(self, moments: Sequence[Moment], outcome: Unasked, detail: str) -> None:
        if moments:
            self._spawn(self._office.skip(self.hill.challenge_id, moments, outcome, detail), "skipping ticks")

    async def _poll(self, moment: Moment) -> None:
        office, challenge_id = self._office, self.hill.challenge_id
        try:
            # In the reactor's next turn: the call that led here returns first, and with it the next tick's is set. So
            # what a poll does when its time is over never comes before the tick that it overruns.
            await deferLater(office.clock, 0)
            evidence = await self._ask()
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001 - a defect: the tick is recorded in any case, and those to come are polled
            office.log.failure("tick {tick} of hill {hill} was not polled", tick=moment.tick, hill=challenge_id)
            await office.skip(challenge_id, [moment], "missed", "the platform failed to poll")
        else:
            await office.record(challenge_id, moment, evidence)
        finally:
            self._polling = False
        self._await_reset()

    async def _ask(self) -> Evidence:
        await self._office.slots.acquire()
        try:
            return await self._office.client.poll(self.hill.settings)
        finally:
            self._office.slots.release()

    # Resets

    def _await_reset(self) -> None:
        """Set the timer for the next reset, if there is one to come."""
        self._stop_reset_timer()
        moment = self.hill.next_reset()
        if self.open and moment is not None and not self._resetting:
            wait = (moment - self._office.now()).total_seconds()
            self._reset_timer = self._office.clock.callLater(max(0.0, wait), self._begin_reset)

    def _stop_reset_timer(self) -> None:
        if self._reset_timer is not None and self._reset_timer.active():
            self._reset_timer.cancel()

    def _begin_reset(self) -> None:
        # A poll under way comes first; when it is done it sets the timer again.
        if not (self._polling or self._resetting) and self._office.leads():
            self._resetting = True
            self._spawn(self._reset(), "a reset")

    async def _reset(self) -> None:
        office, hill = self._office, self.hill
        try:
            await office.note(begin_reset, hill.challenge_id)
            self.hill = msgspec.structs.replace(hill, reset_asked=False, resetting_since=None, last_reset=office.now())
            facts = {"challenge_id": hill.challenge_id, "date": iso(office.now()), "asked": hill.reset_asked}
            body = msgspec.json.encode(facts)
            problem = await office.client.reset(hill.settings, await office.proof(body), body)
            if problem is None:
                problem = await self._until_unowned(office.now() + LONGEST_RESET)
            else:
                problem = f"the reset URL failed: {problem}"
            if problem is not None:
                office.log.warn("hill {hill} was not reset: {why}", hill=hill.challenge_id, why=problem)
            await office.note(end_reset, hill.challenge_id, problem)
        finally:
            self._resetting = False

    async def _until_unowned(self, deadline: datetime) -> str | None:
        """Poll until the agent answers with an empty owner; None, or why it was given up."""
        plain = msgspec.structs.replace(self.hill.settings, health_gate=False)
        while True:
            evidence = await self._office.client.poll(plain)
            if evidence.owners == ("",):
                return None
            if self._office.now() >= deadline:
                last = evidence.detail or f"its owner was {evidence.owners[0][:80]!r}"
                return f"the agent had not answered with an empty owner after 5 minutes; last, {last}"
            await deferLater(self._office.clock, LOOK)

    def _spawn(self, work: Coroutine[Deferred[Any], Any, None], doing: str) -> None:
        """Begin *work*, which nobody waits for but the end of the service."""
        running = Deferred.fromCoroutine(work)
        self._work.add(running)

        def done(result: object) -> None:
            self._work.discard(running)
            if isinstance(result, Failure) and not result.check(CancelledError):
                self._office.report(result, doing, self.hill.challenge_id)

        running.addBoth(done)
