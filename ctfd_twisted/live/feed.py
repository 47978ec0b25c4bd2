"""From commits to the streams: what any node has committed is told by each node to those who listen there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Busy
from ctfd_twisted.koth.recording import KING
from ctfd_twisted.live.again import Again
from ctfd_twisted.live.door import AT_LEAST, PAUSE, Door, Doorkeeper
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.news_store import read_kings
from ctfd_twisted.live.sources import Source
from ctfd_twisted.live.views import BITS, KOTH, NOTIFICATIONS, SCOREBOARD, SOLVES, View

#: Seconds between two readings of a channel, which gather what happens meanwhile.
PAUSES: Final = {NOTIFICATIONS: 0.0, SOLVES: 0.25, KOTH: 0.25, SCOREBOARD: 0.5}
#: Seconds after which hills are looked at though no commit told of them: challenges are released by the time of day.
LOOK_AROUND: Final = 15


class Feed(Service):
    """Reads what is new after the commits that tell of it, each channel one reading at a time."""

    log = Logger()
    name = "live feed"

    def __init__(
        self,
        clock: IReactorTime,
        db: Database,
        hub: Hub,
        sources: Sequence[Source],
        doorkeeper: Doorkeeper,
        competition: Callable[[], Awaitable[Competition]],
        now: Callable[[], datetime],
    ) -> None:
        """*doorkeeper* knows who may listen, *competition* gives its present settings."""
        self._db = db
        self._hub = hub
        self._sources = sources
        self._competition = competition
        self._now = now
        self._door = Door(hub, doorkeeper, competition, now)
        self._readings = {
            source.name: Again(clock, partial(self._tell, source), pause=PAUSES[source.name]) for source in sources
        }
        self._kings = Again(clock, self._tell_kings)
        self._look = Again(clock, self._door.look, pause=PAUSE)
        self._hills: set[int] = set()
        self._seconds = 0
        self._before: datetime | None = None
        self._loop = LoopingCall(self._tick)
        self._loop.clock = clock
        self._unsubscribe: Callable[[], None] = lambda: None

    @property
    def _works(self) -> tuple[Again, ...]:
        return (*self._readings.values(), self._kings, self._look)

    def startService(self) -> None:
        """Begin to hear of commits, and learn what is there already."""
        super().startService()
        self._unsubscribe = self._db.bus.subscribe(self._heard)
        for work in self._works:
            work.start()
        for reading in self._readings.values():
            reading.mark()
        self._readings[NOTIFICATIONS].poke()
        self._loop.start(1, now=False)

    def stopService(self) -> Deferred[Any]:
        """Hear no more; a reading that is under way ends."""
        super().stopService()
        self._unsubscribe()
        if self._loop.running:
            self._loop.stop()
        return DeferredList([work.stop() for work in self._works])

    async def settled(self, bits: int) -> None:
        """Wait until the channels of *bits* are as the last commit left them; raises ``Busy`` where that can't be."""
        for name, reading in self._readings.items():
            if bits & BITS[name]:
                await reading.settled()

    def _heard(self, topics: frozenset[str]) -> None:
        for source in self._sources:
            if source.heard(topics):
                self._renew(source.name)
        hills = {int(number) for word, _, number in (topic.partition(":") for topic in topics) if word == KING}
        if hills and self._hub.plain:
            self._hills |= hills
            self._kings.poke()
        if self._door.heard(topics):
            self._look.poke()

    def _renew(self, name: str) -> None:
        """Read a channel anew, or, where nobody listens to it, when somebody does; notifications all get."""
        reading = self._readings[name]
        if name == NOTIFICATIONS or self._hub.wanted(name):
            reading.poke()
        else:
            reading.mark()

    async def _tell(self, source: Source) -> None:
        steps = await source.read()
        self._hub.tell(source, steps)
        if source.name == NOTIFICATIONS:
            self._hub.tell_plain(step.body for step in steps[View.PLAYER])

    async def _tell_kings(self) -> None:
        hills, self._hills = self._hills, set()
        try:
            frames = await self._db.read(read_kings, self._now(), hills)
        except Exception:
            self._hills |= hills
            raise
        self._hub.tell_plain(frames)

    async def _tick(self) -> None:
        self._seconds += 1
        if self._seconds % LOOK_AROUND == 0:
            self._renew(KOTH)
        if self._seconds % AT_LEAST == 0:
            self._look.poke()
        # A database that can't be read says so itself, once.
        with self.log.failuresHandled("the hour was not looked at; the next look is in 1 s"), suppress(Busy):
            await self._look_at_the_hour()

    async def _look_at_the_hour(self) -> None:
        """Where the competition's start, end or freeze has just come, look anew at what may be seen."""
        competition, now = await self._competition(), self._now()
        before, self._before = self._before, now
        moments = (competition.start, competition.end, competition.freeze)
        if before is None or not any(before.timestamp() <= (at or 0) <= now.timestamp() for at in moments):
            return
        for source in self._sources:
            source.look_anew()
            self._renew(source.name)
