"""The service that polls hills: on one node at a time, the one that has the lease."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ctfd_twisted.db.leases import acquire, release
from ctfd_twisted.db.notices import concerns
from ctfd_twisted.errors import Busy
from ctfd_twisted.koth.keys import ensure_secrets
from ctfd_twisted.koth.office import TROUBLE, Office
from ctfd_twisted.koth.plans import Plan, PlannedHill, begin, read_plan, rest
from ctfd_twisted.koth.recording import LEASE, NotTheHolder
from ctfd_twisted.koth.rounds import INSTANT
from ctfd_twisted.koth.watch import Watch

#: Seconds for which the lease is taken, and between two renewals: who finds it expired has looked for it no later than
#: one renewal before, so that a dead node is replaced after at most the sum of both.
TTL: Final = 6.0
RENEWAL: Final = 2.0
#: Seconds between two readings of the plan, however often something changes.
GAP: Final = 0.5
#: The same after a reading that has failed.
LONG_GAP: Final = 2.0
#: Seconds that polls under way are given when the service stops.
LAST_WORDS: Final = 8.0
_TOPICS: Final = frozenset({"hills", "challenges", "config"})


class HillPoller(Service):
    """Polls every open hill while the competition runs, as long as this node has the lease."""

    log = Logger()
    name = "koth"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._clock = office.clock
        self._db = office.db
        office.leads = self.leads
        office.lost = self._lost
        self._leading = False
        self._watches: dict[int, Watch] = {}
        self._expiry: IDelayedCall | None = None
        self._wake_up: IDelayedCall | None = None
        self._planned_for: IDelayedCall | None = None
        self._reading: Deferred[float] | None = None
        self._busy = False
        self._stale = False
        self._unsubscribe: Callable[[], None] = lambda: None
        self._loop = LoopingCall(self._renew)
        self._loop.clock = self._clock
        self._looped: Deferred[LoopingCall] | None = None

    def startService(self) -> None:
        """Begin to ask for the lease."""
        super().startService()
        self._unsubscribe = self._db.bus.subscribe(self._heard)
        self._looped = self._loop.start(RENEWAL)

    def stopService(self) -> Deferred[None]:
        """Begin no more polls, let those under way end, and give the lease back."""
        super().stopService()
        self._unsubscribe()
        return Deferred.fromCoroutine(self._finish())

    async def _finish(self) -> None:
        for watch in self._watches.values():
            watch.rest()
        cut = self._clock.callLater(LAST_WORDS, self._abandon)
        pending: list[Deferred[Any]] = [work for watch in self._watches.values() for work in watch.under_way()]
        if self._reading is not None:
            pending.append(self._reading)
        await DeferredList(pending)
        if cut.active():
            cut.cancel()
        # Until here the lease is renewed: what was under way had to be recorded.
        if self._loop.running:
            self._loop.stop()
        if self._looped is not None:
            await self._looped
        self._step_down()
        with self.log.failuresHandled("the lease was not given back; other nodes wait for its end"):
            await self._db.run(release, LEASE, self._office.holder)

    # The lease

    def leads(self) -> bool:
        """Whether this node has the lease, as far as it knows."""
        return self._leading

    async def _renew(self) -> None:
        try:
            await self._ask_for_lease()
        except Busy:
            pass  # the database has said so itself, once; this is asked every two seconds
        except TROUBLE as error:
            self.log.warn("The lease was not asked for: {error}", error=str(error).partition("\n")[0])
        except Exception:  # noqa: BLE001 - a loop that raises once never runs again
            self.log.failure("asking for the lease failed; the next time is in {seconds} s", seconds=RENEWAL)

    async def _ask_for_lease(self) -> None:
        asked = self._clock.seconds()
        ours = await self._db.run(acquire, self._office.now(), LEASE, self._office.holder, TTL)
        if not ours:
            self._step_down()
            return
        # Counted from before the question: when it is over for us it is not yet over for others.
        self._set_expiry(asked + TTL - self._clock.seconds())
        if self.running and not self._leading:
            await self._db.run(ensure_secrets)
            self._leading = True
            self.log.info("this node polls the hills")
            self._wake()

    def _set_expiry(self, wait: float) -> None:
        if self._expiry is not None and self._expiry.active():
            self._expiry.cancel()
        self._expiry = self._clock.callLater(max(0.0, wait), self._step_down)

    def _lost(self) -> None:
        """Poll no more; said by work that is under way, and that can't be given up before it has returned."""
        self._leading = False
        self._clock.callLater(0, self._step_down)

    def _step_down(self) -> None:
        """Poll no more: the lease is another's, or may be."""
        if self._leading:
            self.log.info("this node does not poll the hills any more")
        self._leading = False
        self._abandon()
        self._watches.clear()
        for timer in (self._expiry, self._wake_up, self._planned_for):
            if timer is not None and timer.active():
                timer.cancel()

    def _abandon(self) -> None:
        for watch in tuple(self._watches.values()):
            watch.abandon()

    # The plan

    def _heard(self, topics: frozenset[str]) -> None:
        if self._leading and concerns(topics, _TOPICS):
            self._wake()

    def _wake(self) -> None:
        """Read the plan soon, and once for all that is heard until then."""
        self._stale = True
        if not self._busy and (self._wake_up is None or not self._wake_up.active()):
            self._read_now()

    def _read_now(self) -> None:
        if not (self._stale and self._leading and self.running):
            return
        self._stale = False
        # Told before it begins: what it writes is heard here, too.
        self._busy = True
        self._reading = Deferred.fromCoroutine(self._read())
        self._reading.addCallback(self._read_on)

    async def _read(self) -> float:
        """Follow the plan; returns how many seconds to wait before it is read again."""
        try:
            await self._follow()
        except NotTheHolder:
            pass
        except TROUBLE as error:
            self.log.warn("The hills were not read: {error}", error=str(error).partition("\n")[0])
            self._stale = True
            return LONG_GAP
        except Exception:  # noqa: BLE001 - what is watched goes on being watched
            self.log.failure("reading the hills failed; the next time is in {seconds} s", seconds=LONG_GAP)
            self._stale = True
            return LONG_GAP
        return GAP

    def _read_on(self, wait: float) -> None:
        self._busy = False
        if self._leading and self.running:
            self._wake_up = self._clock.callLater(wait, self._read_now)

    async def _follow(self) -> None:
        """Read the plan and watch what it says."""
        plan = await self._db.read(read_plan)
        now = self._office.now()
        wanted = self._wanted(plan, now)
        starting = [hill.challenge_id for hill in wanted.values() if not hill.running]
        stopping = [hill for hill in plan.hills if hill.running and hill.challenge_id not in wanted]
        if stopping:
            await self._close(plan, stopping, now)
        if starting:
            await self._office.note(begin, starting)
        if starting or stopping:
            plan = await self._db.read(read_plan)
            wanted = {hill.challenge_id: hill for hill in plan.hills if hill.running and hill.challenge_id in wanted}
        if self._leading and self.running:
            self._apply(plan, wanted, frozenset(starting))
            self._set_alarm(plan)

    def _wanted(self, plan: Plan, now: datetime) -> dict[int, PlannedHill]:
        if not plan.polled(now):
            return {}
        return {hill.challenge_id: hill for hill in plan.hills if hill.is_open(now)}

    async def _close(self, plan: Plan, stopping: list[PlannedHill], now: datetime) -> None:
        for hill in stopping:
            end = plan.end_of(hill)
            watch = self._watches.get(hill.challenge_id)
            if watch is not None:
                watch.rest()
            elif end is not None and end <= now:
                # Nobody watched it to the end. Why else it rests, and since when, is not known.
                await Watch(self._office, hill).catch_up(end - INSTANT)
        await self._office.note(rest, [hill.challenge_id for hill in stopping])

    def _apply(self, plan: Plan, wanted: dict[int, PlannedHill], started: frozenset[int]) -> None:
        known = {hill.challenge_id for hill in plan.hills}
        for challenge_id, watch in tuple(self._watches.items()):
            if challenge_id not in wanted:
                watch.rest()
                if challenge_id not in known:
                    del self._watches[challenge_id]
        for challenge_id, hill in wanted.items():
            present, end = self._watches.get(challenge_id), plan.end_of(hill)
            fresh = challenge_id in started
            if present is not None and present.open and not fresh:
                present.update(hill, end)
                continue
            if present is None or (fresh and hill.next_tick == 0):
                # All that was played may have been forgotten, and the numbers begin anew.
                if present is not None:
                    present.abandon()
                present = self._watches[challenge_id] = Watch(self._office, hill)
            present.begin(hill, end, caught_up=fresh)

    def _set_alarm(self, plan: Plan) -> None:
        """Read the plan again when the clock alone changes it."""
        if self._planned_for is not None and self._planned_for.active():
            self._planned_for.cancel()
        now = self._office.now()
        moment = plan.next_change(now)
        if moment is not None:
            self._planned_for = self._clock.callLater((moment - now).total_seconds(), self._wake)
