"""A snapshot that most commits only add to: it is brought up to date with what is new, and seldom built anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from sqlalchemy import Connection
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import Bus, concerns
from ctfd_twisted.db.snapshot import Slot

T = TypeVar("T")

#: With more news than this a value is built anew; it takes no longer then.
MOST: Final = 256


class GrowingSnapshot(Generic[T]):
    """One value that ``build(conn)`` makes and ``grow(conn, value, news)`` brings up to date.

    :param topics: which commits make it stale altogether, so that it is built anew.
    :param prefixes: how the topics begin that are news; *grow* is given those that came since, and again those of a
        commit that the value may hold already, so it must not count anything twice. It may change *value* in place and
        return it, because no two run at a time; what readers keep of a value must not be part of that. It returns None
        where the news is nothing that it can add.

    What is answered is never older than the last commit before the question, as with ``Snapshot``.
    """

    def __init__(
        self,
        db: Database,
        bus: Bus,
        build: Callable[[Connection], T],
        grow: Callable[[Connection, T, frozenset[str]], T | None],
        *,
        topics: Iterable[str],
        prefixes: tuple[str, ...],
    ) -> None:
        self._db = db
        self._build = build
        self._grow = grow
        self._topics = frozenset(topics)
        self._prefixes = prefixes
        self._slot: Slot[T] = Slot()
        self._base: T | None = None
        self._news: set[str] = set()
        self._era = 0
        # Whether a renewal waits for the one that is under way; the slot is its.
        self._lined_up = False
        self._work: Deferred[None] = succeed(None)
        bus.subscribe(self._heard)

    def ready(self) -> T | None:
        """The value, if it is there and nothing has happened since."""
        return self._slot.value

    def get(self) -> Deferred[T]:
        """The value, brought up to date first where it has to be."""
        value = self.ready()
        return succeed(value) if value is not None else self._slot.get(self._renewed)

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, self._topics):
            self._forget()
            return
        news = {topic for topic in topics if topic.startswith(self._prefixes)}
        if news:
            self._ask_anew()
            self._news |= news
            if len(self._news) > MOST:
                self._forget()

    def _ask_anew(self) -> None:
        # A renewal that still waits for the one before will see what has come meanwhile, so it is good for who asks
        # from now on. One for each piece of news would make a line that grows for as long as news comes faster.
        if not self._lined_up:
            self._slot = Slot()

    def _forget(self) -> None:
        self._ask_anew()
        self._base = None
        self._news = set()
        self._era += 1

    def _renewed(self) -> Deferred[T]:
        """The next value; one at a time, since each begins with the one before."""
        renewed: Deferred[T] = Deferred()
        before, self._work = self._work, Deferred()
        work = self._work
        self._lined_up = True

        def begin(_: object) -> None:
            self._lined_up = False
            base, news, era = self._base, frozenset(self._news), self._era
            self._base, self._news = None, set()

            def made(value: T) -> None:
                if era == self._era:
                    self._base = value
                renewed.callback(value)
                work.callback(None)

            def failed(failure: Failure) -> None:
                # Whatever was half done to the base is not gone on with.
                renewed.errback(failure)
                work.callback(None)

            if self._db.meter is not None:
                self._db.meter.built(self._build, grown=base is not None)
            # It may raise, where too much waits; those who wait for this are told, and the next begins.
            maybeDeferred(self._db.read, self._made, base, news).addCallbacks(made, failed)

        before.addCallback(begin)
        return renewed

    def _made(self, conn: Connection, base: T | None, news: frozenset[str]) -> T:
        grown = None if base is None else self._grow(conn, base, news)
        return self._build(conn) if grown is None else grown
