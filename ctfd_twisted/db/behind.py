"""Notes that nobody waits for, written together: a write-behind.

Where somebody was seen, when a token was used, who has opened a challenge: such things come with almost every request,
and a transaction for each would cost more than the request. They are gathered in memory and written once a second, all
kinds in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Connection, func, select
from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Busy

K = TypeVar("K")
V = TypeVar("V")

#: Seconds from the first note to the transaction that writes it and those that came meanwhile.
TOGETHER: Final = 1.0
#: So many notes of a kind wait at most; further ones are dropped.
LIMIT: Final = 10_000
#: So many are given to ``record`` at a time, each of which may be a few values of one statement.
AT_A_TIME: Final = 1_000

#: PostgreSQL's advisory lock under which notes are written; a number of ours.
_LOCK: Final = 0x63746670_0003

#: ``record(conn, notes)`` writes some notes by their keys; keys of what is gone by now are no error.
Record = Callable[[Connection, Mapping[K, V]], None]


class Notes(Generic[K, V]):
    """The notes of one kind that wait to be written."""

    def __init__(self, record: Record[K, V], wake: Callable[[], None]) -> None:
        self.record = record
        self._wake = wake
        self._waiting: dict[K, V] = {}

    def add(self, key: K, value: V) -> None:
        """Note *value* under *key*, in place of what waits there."""
        if len(self._waiting) < LIMIT or key in self._waiting:
            self._waiting[key] = value
            self._wake()

    @property
    def waits(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting)

    def take(self) -> dict[K, V]:
        """What waits, and waits here no longer."""
        taken, self._waiting = self._waiting, {}
        return taken

    def put_back(self, taken: Mapping[K, V]) -> None:
        """Let what was taken wait again, where nothing newer does."""
        for key, value in taken.items():
            if key not in self._waiting:
                self.add(key, value)


class WriteBehind(Service):
    """Gathers notes and writes them behind the requests that they come from.

    A killed process loses what it gathered within the last second, and a transaction that fails is logged and lost. So
    nothing belongs here that somebody was told is stored. A stopped service has written everything.
    """

    _log = Logger()

    def __init__(self, db: Database, clock: IReactorTime) -> None:
        self._db = db
        self._clock = clock
        self._kinds: list[Notes[Any, Any]] = []
        self._one_at_a_time = DeferredLock()
        # Set from the first note until the transaction that writes it has ended.
        self._timer: IDelayedCall | None = None

    def notes(self, record: Record[K, V]) -> Notes[K, V]:
        """A new kind of notes, which *record* writes."""
        kind = Notes(record, self._wake)
        self._kinds.append(kind)
        return kind

    def stopService(self) -> Deferred[None]:
        """Write what waits; fires when it is written."""
        super().stopService()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        writing: Deferred[None] = self._one_at_a_time.run(self._write)
        return writing

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = self._clock.callLater(TOGETHER, self._due)

    def _due(self) -> None:
        self._one_at_a_time.run(self._write).addBoth(self._rest)

    def _rest(self, _: object) -> None:
        self._timer = None
        if any(kind.waits for kind in self._kinds):
            self._wake()

    async def _write(self) -> None:
        taken = [(kind, kind.take()) for kind in self._kinds if kind.waits]
        if not taken:
            return
        try:
            await self._db.run(write_notes, [(kind.record, notes) for kind, notes in taken])
        except Busy:
            for kind, notes in taken:
                kind.put_back(notes)
        except Exception:  # noqa: BLE001 - whatever it was, the next notes are written
            self._log.failure("notes of the last second are lost")


def write_notes(conn: Connection, batches: Sequence[tuple[Record[Any, Any], Mapping[Any, Any]]]) -> None:
    """Write each batch by its function.

    What is not there yet is added, and CTFd's tables have no constraint that would keep two nodes from adding the same;
    so on PostgreSQL nodes do this one after the other. A SQLite write transaction is alone in the file anyway.
    """
    if conn.dialect.name == "postgresql":
        conn.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    for record, notes in batches:
        rest = iter(notes.items())
        while some := dict(islice(rest, AT_A_TIME)):
            record(conn, some)
