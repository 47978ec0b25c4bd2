"""From commits to the streams: what any node has committed is told by each node to those who listen there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ctfd_twisted.content.notices_store import Delivery, announced
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.koth.recording import KING
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.news_store import read_kings, read_news


class Feed(Service):
    """Reads new notifications and kings after the commits that tell of them, one reading at a time."""

    log = Logger()
    name = "live feed"

    def __init__(self, db: Database, hub: Hub, now: Callable[[], datetime]) -> None:
        self._db = db
        self._hub = hub
        self._now = now
        self._seen: int | None = None
        self._announced: dict[int, Delivery] = {}
        self._hills: set[int] = set()
        self._stale = False
        self._busy = False
        self._reading: Deferred[None] | None = None
        self._unsubscribe: Callable[[], None] = lambda: None

    def startService(self) -> None:
        """Begin to hear of commits, and learn what is there already."""
        super().startService()
        self._unsubscribe = self._db.bus.subscribe(self._heard)
        self._wake()

    def stopService(self) -> Deferred[None] | None:
        """Hear no more; a reading that is under way ends."""
        super().stopService()
        self._unsubscribe()
        return self._reading

    def _heard(self, topics: frozenset[str]) -> None:
        for topic in topics:
            said = announced(topic)
            if said is not None:
                notice_id, delivery = said
                self._announced[notice_id] = delivery
            word, _, challenge_id = topic.partition(":")
            if word == KING:
                self._hills.add(int(challenge_id))
        if self._announced or self._hills or not topics.isdisjoint({"notifications", EVERYTHING}):
            self._wake()

    def _wake(self) -> None:
        self._stale = True
        if not self._busy:
            self._busy = True
            self._reading = Deferred.fromCoroutine(self._read())

    async def _read(self) -> None:
        try:
            while self._stale and self.running:
                self._stale = False
                await self._tell()
        except Exception:  # noqa: BLE001 - the next commit is another try
            self.log.failure("what is new was not read; it is told with what comes next")
        finally:
            self._busy = False

    async def _tell(self) -> None:
        mine, self._announced = self._announced, {}
        hills, self._hills = self._hills, set()
        try:
            news = await self._db.read(read_news, self._seen, mine)
            kings = await self._db.read(read_kings, self._now(), hills) if hills else ()
        except Exception:
            # What was announced meanwhile is newer: SQLite may have given an id away again.
            self._announced = {**mine, **self._announced}
            self._hills |= hills
            raise
        self._seen = news.last
        for frame in (*news.frames, *kings):
            self._hub.publish(frame)
