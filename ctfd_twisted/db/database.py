"""The one seam between the reactor and the database's threads.

``Database.run(fn, *args)`` begins a transaction in a thread, calls ``fn(conn, *args)``, commits, tells the topics that
``fn`` touched and gives back its value. Everything above this module waits; everything below it is plain synchronous
code over a connection. What leaves a transaction is frozen values, never a row or a result.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ctfd_twisted.db.engine import READERS, Engines
from ctfd_twisted.db.meter import Meter
from ctfd_twisted.db.notices import EVERYTHING, Bus, taken_topics
from ctfd_twisted.db.queue import Done, Queue, Start, Turns, outcome_of, start_inline
from ctfd_twisted.db.together import ALONE, Together, WriteMany
from ctfd_twisted.db.trouble import may_succeed_again, trouble
from ctfd_twisted.errors import Busy

__all__ = ("Database", "Done", "Start", "start_inline")

P = ParamSpec("P")
A = TypeVar("A")
T = TypeVar("T")

#: A transaction is tried again this often when the database says that running it anew may succeed.
TRIES: Final = 6
#: So many reads of requests may wait for a thread, and so many writes; more are answered 503 at once.
WAITING: Final = 2000
#: The same for what services and the write-behind do.
ASIDE: Final = 500
#: Seconds after which a transaction is not begun any more, and not tried again: whoever asked for it has given up by
#: then, or may ask again. So the queue behind a lock of another program never grows longer than this.
PATIENCE: Final = 10
#: Seconds after which somebody may ask again who was answered that the database can't be used.
ASK_AGAIN: Final = 5
#: What the database can't be at times, as the log says it.
_WRITTEN: Final = "written to"
_NO_NEWS: Final[frozenset[str]] = frozenset()
UNUSABLE: Final = "The database can't be used at the moment. Please try again shortly."


class Database:
    """Transactions against one database, from the reactor's thread.

    :param engines: where connections come from; see :func:`ctfd_twisted.db.engine.open_engines`.
    :param write: starts a write transaction in a thread; on SQLite there is exactly one such thread, because the file
        has one writer and waiting for it in a queue of ours is cheaper than waiting in SQLite's busy loop.
    :param read: starts a read-only transaction in a thread.
    :param writers: how many threads *write* has.
    :param readers: how many *read* has.
    :param seconds: a clock that only goes forwards; it is asked in threads as well.
    """

    _log = Logger()

    def __init__(
        self,
        engines: Engines,
        bus: Bus,
        *,
        write: Start,
        read: Start,
        writers: int = 1,
        readers: int = READERS,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engines = engines
        self.bus = bus
        #: Who counts transactions; set before :meth:`aside` is called, whose databases have the same.
        self.meter: Meter | None = None
        self.dialect = engines.dialect
        self._write_turns, self._read_turns = Turns(write), Turns(read)
        self._threads = writers, readers
        self._seconds = seconds
        self.writes, self.reads = self._queues(WAITING)
        # What can't be done at present, so that the log says it once and not at every request.
        self._troubled: set[str] = set()

    def aside(self) -> Database:
        """The same database for what runs beside the requests.

        Its transactions wait in queues of their own, and each queue has its turn: requests can neither fill these
        queues nor be kept waiting by them for more than every other transaction.
        """
        other = copy(self)
        other.writes, other.reads = other._queues(ASIDE)  # noqa: SLF001 - of this very class
        return other

    def _queues(self, most: int) -> tuple[Queue, Queue]:
        limits: dict[str, Any] = {"most": most, "patience": PATIENCE, "late": _late, "seconds": self._seconds}
        writers, readers = self._threads
        return (
            Queue(self._write_turns.kind(), threads=writers, **limits),
            Queue(self._read_turns.kind(), threads=readers, **limits),
        )

    def run(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Run ``fn(conn, *args)`` as one write transaction.

        Its topics are published after the commit and before the result is given to the caller, whether or not the
        caller still waits: a cancelled request does not lose the news of a commit. Raises what *fn* raises, and
        ``Busy`` when too many transactions wait already, when one has waited for too long, or when the database can't
        be used: it is away, locked by another program, or its disk is full. One that is cancelled before it has a
        thread is not begun.
        """
        return self._begin(_WRITTEN, self.writes, fn, lambda: self._write(fn, args, kwargs))

    def together(self, fn: WriteMany[A, T]) -> Callable[[A], Deferred[T]]:
        """What hands an item to *fn*, with all other items that wait for it at the same moment, as one transaction.

        For what is short and comes often. It raises as ``run`` does, and what *fn* answers for this item alone.
        """

        def counted(waited: float, took: float | None, outcome: tuple[bool, Any]) -> None:
            if self.meter is not None:
                self.meter.counted(fn, waited, took, outcome)

        def one(conn: Connection, item: A) -> T:
            (outcome,) = fn(conn, (item,), alone=True)
            if isinstance(outcome, Exception):
                raise outcome
            return cast("T", outcome)

        def write_alone(item: A) -> Deferred[T]:
            return self._begin(_WRITTEN, self.writes, fn, lambda: self._write(one, (item,), {}))

        gathering: Together[A, T] = Together(
            self.writes.put,
            partial(self._write_together, fn, one),
            write_alone,
            self.bus.publish,
            counted,
            most=WAITING,
            patience=PATIENCE,
            late=_late,
            seconds=self._seconds,
        )
        settle = partial(self._settled, _WRITTEN)
        return lambda item: gathering.put(item, settle)

    def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Run ``fn(conn, *args)`` as one read-only transaction over one state of the database; raises as ``run``."""
        return self._begin("read", self.reads, fn, lambda: self._read(fn, args, kwargs))

    def notice_others(self) -> None:
        """Publish what others have changed in an SQLite file since the last look; never waits."""
        if self.engines.watch is not None:
            self.bus.publish(self.engines.watch.news())

    def close(self) -> None:
        """Close every connection; call it when no transaction is under way."""
        self.engines.close()

    def build(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """``read``, for what is remembered: it is counted that it had to be built."""
        if self.meter is not None:
            self.meter.built(fn)
        return self.read(fn, *args, **kwargs)

    def _begin(
        self,
        doing: str,
        queue: Queue,
        fn: Callable[..., Any],
        work: Callable[[], tuple[T, frozenset[str]]],
    ) -> Deferred[T]:
        settle = partial(self._settled, doing)
        return queue.put(work, settle) if self.meter is None else self.meter.put(queue, fn, work, settle)

    def _settled(self, doing: str, succeeded: bool, value: Any) -> tuple[bool, Any]:  # noqa: FBT001 - the queue's callback
        """What the caller is told, after everybody has heard the topics."""
        if not succeeded:
            return False, self._told(doing, value)
        if doing in self._troubled:
            self._troubled.discard(doing)
            self._log.info("the database can be {doing} again", doing=doing)
        result, topics = value
        if topics:
            self.bus.publish(topics)
        return True, result

    def _told(self, doing: str, failure: Failure) -> Failure:
        """*failure*, or ``Busy`` where it is the database that can't be used."""
        if doing == _WRITTEN and getattr(failure.value, "connection_invalidated", False):
            # It broke perhaps after the commit and before its answer, and nobody else tells us what we wrote ourselves.
            self.bus.publish((EVERYTHING,))
        reason = trouble(failure.value)
        if reason is None:
            return failure
        if doing not in self._troubled:
            self._troubled.add(doing)
            self._log.error("the database can't be {doing}: {reason}", doing=doing, reason=reason)
        return Failure(Busy(ASK_AGAIN, UNUSABLE))

    def _write(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[T, frozenset[str]]:
        return self._tried(lambda: self._write_once(fn, args, kwargs))

    def _write_together(
        self, fn: WriteMany[A, T], one: Callable[[Connection, A], T], items: Sequence[A]
    ) -> tuple[list[tuple[bool, Any]], frozenset[str]]:
        """One transaction for *items*, or one for each where they can't share it: their outcomes, and the topics."""
        try:
            told, topics = self._write(fn, (items,), {"alone": False})
        except Exception as error:  # noqa: BLE001 - handed over as a Failure, as a thread would
            if len(items) == 1 or trouble(error) is not None:
                return [(False, Failure())] * len(items), _NO_NEWS
            # One of them has taken the others with it: each for itself.
            outcomes = [outcome_of(partial(self._write, one, (item,), {})) for item in items]
            return outcomes, _NO_NEWS
        return [_outcome(value) for value in told], topics

    def _tried(self, once: Callable[[], T]) -> T:
        """Make a transaction, and make it again where that may help."""
        began = self._seconds()
        for attempt in range(1, TRIES + 1):
            try:
                return once()
            except DBAPIError as error:
                # A lock that was waited for in vain has cost this thread its patience already.
                if attempt == TRIES or self._seconds() - began > PATIENCE / 2 or not may_succeed_again(error):
                    raise
                # A pause of a random length, so that the two who met do not meet again.
                time.sleep(random.uniform(0.002, 0.02) * attempt)  # noqa: S311 - no secret depends on it
        raise AssertionError("unreachable")

    def _write_once(
        self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[T, frozenset[str]]:
        with self.engines.writer() as conn:
            taken_topics(conn)  # what a rolled-back transaction left on this connection
            transaction = conn.begin()
            try:
                value = fn(conn, *args, **kwargs)
                topics = taken_topics(conn)
                self.engines.before_commit(conn, topics)
                transaction.commit()
            except BaseException:
                transaction.rollback()
                raise
        return value, topics

    def _read(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[T, frozenset[str]]:
        for attempt in (1, 2):
            try:
                with self.engines.reader() as conn, conn.begin():
                    return fn(conn, *args, **kwargs), frozenset()
            except DBAPIError as error:
                # A pooled connection whose server was restarted; the next one is fresh.
                if attempt == 2 or not error.connection_invalidated:  # noqa: PLR2004 - the second and last try
                    raise
        raise AssertionError("unreachable")


def _outcome(value: object) -> tuple[bool, Any]:
    """What comes of one of many: as of one that was alone, whose topics were told before."""
    if isinstance(value, Exception):
        return False, Failure(value)
    return True, value if value is ALONE else (value, _NO_NEWS)


def _late() -> Busy:
    return Busy(ASK_AGAIN)
