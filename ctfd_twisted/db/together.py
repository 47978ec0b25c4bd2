"""Short transactions that wait for the writer at the same moment share one, and so one ``BEGIN`` and one ``COMMIT``.

Each is a savepoint of its own in it: what one of them raises undoes that one and nobody else. None is answered before
all of them are committed (docs/adr/0084-short-writes-share-a-commit.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import EVERYTHING, taken_topics, touch
from ctfd_twisted.db.queue import Settle
from ctfd_twisted.db.trouble import trouble
from ctfd_twisted.errors import Busy

#: So many share a transaction at most: whoever was first waits for the last.
LARGEST: Final = 32
#: So many of the threads' turns are asked for at a time: while one is under way the next is in line already.
_IN_LINE: Final = 2

#: What a transaction calls, given its connection: a value and the topics beside those that are touched.
Call = Callable[[Connection], tuple[Any, frozenset[str]]]
#: Whether it succeeded, and what the call gave back, or the failure.
Outcome = tuple[bool, Any]


class _Piece:
    __slots__ = ("asked", "call", "deferred", "settle")

    def __init__(self, call: Call, settle: Settle, asked: float) -> None:
        self.call = call
        self.settle = settle
        self.asked = asked
        self.deferred: Deferred[Any] = Deferred()


class Together:
    """What waits to share a transaction.

    :param start: puts work in line for a thread, as ``Queue.put`` does.
    :param write: makes the transaction of many calls, in a thread: one outcome for each, and the topics of all.
    :param publish: tells topics.
    :param most: so many may wait; more are refused.
    :param patience: seconds after which what waits is not begun any more.
    :param late: what is raised instead then.
    """

    def __init__(
        self,
        start: Callable[[Callable[[], Any]], Deferred[Any]],
        write: Callable[[Sequence[Call]], tuple[list[Outcome], frozenset[str]]],
        publish: Callable[[frozenset[str]], None],
        *,
        most: int,
        patience: float,
        late: Callable[[], Exception],
        seconds: Callable[[], float],
    ) -> None:
        self._start = start
        self._write = write
        self._publish = publish
        self._most = most
        self._patience = patience
        self._late = late
        self._seconds = seconds
        # The reactor's thread appends, and takes away whoever has left; a writer takes from the other end. Each is one
        # step of a deque.
        self._waiting: deque[_Piece] = deque()
        self._in_line = 0

    def put(self, call: Call, settle: Settle) -> Deferred[Any]:
        """Do *call* with others and give back what *settle* makes of it; otherwise as ``Queue.put``."""
        if len(self._waiting) >= self._most:
            raise self._late()
        piece = _Piece(call, settle, self._seconds())
        piece.deferred = Deferred(lambda _: self._leave(piece))
        self._waiting.append(piece)
        if self._in_line < _IN_LINE:
            try:
                self._line_up()
            except Busy:
                if not self._in_line:
                    self._leave(piece)
                    raise
        return piece.deferred

    def _leave(self, piece: _Piece) -> None:
        try:
            self._waiting.remove(piece)
        except ValueError:
            return  # it was begun, and will end; only its caller stops waiting

    def _line_up(self) -> None:
        done = self._start(self._work)
        self._in_line += 1
        done.addBoth(self._told)

    def _work(self) -> tuple[list[_Piece], list[Outcome], frozenset[str]]:
        """Take what waits, and do it; in a thread."""
        begins = self._seconds()
        taken: list[_Piece] = []
        late: list[_Piece] = []
        try:
            while len(taken) < LARGEST:
                piece = self._waiting.popleft()
                (late if begins - piece.asked > self._patience else taken).append(piece)
        except IndexError:
            pass  # that was all
        try:
            outcomes, news = self._write([piece.call for piece in taken])
        except BaseException:  # noqa: BLE001 - handed over, as a thread would
            outcomes, news = [(False, Failure())] * len(taken), frozenset()
        return taken + late, outcomes + [(False, Failure(self._late()))] * len(late), news

    def _told(self, done: tuple[list[_Piece], list[Outcome], frozenset[str]] | Failure) -> None:
        self._in_line -= 1
        # A turn that came too late has taken nothing: of those who wait each is looked at when the next one comes.
        pieces, outcomes, news = ([], [], frozenset()) if isinstance(done, Failure) else done
        self._publish(news)
        settled = [(piece, *piece.settle(*outcome)) for piece, outcome in zip(pieces, outcomes, strict=True)]
        if self._waiting and self._in_line < _IN_LINE:
            try:
                self._line_up()
            except Busy as busy:
                if not self._in_line:
                    settled += [(piece, False, Failure(busy)) for piece in self._waiting]
                    self._waiting.clear()
        for piece, succeeded, value in settled:
            if piece.deferred.called:
                continue  # its caller has left
            if succeeded:
                piece.deferred.callback(value)
            else:
                piece.deferred.errback(value)


def write_together(engines: Engines, calls: Sequence[Call]) -> tuple[list[Outcome], frozenset[str]]:
    """Make *calls* in one transaction on an SQLite file, in their order: one outcome for each, and the topics of all.

    Raises ``DBAPIError`` where nothing was stored: the database can't be used, or all came to nothing at the commit.
    """
    with engines.writer() as conn:
        taken_topics(conn)  # what a rolled-back transaction left on this connection
        transaction = conn.begin()
        try:
            outcomes = [_within(conn, call) for call in calls]
            news = taken_topics(conn)
            if engines.commit(transaction):
                news |= {EVERYTHING}
        except BaseException:
            transaction.rollback()
            raise
    return outcomes, news


def _within(conn: Connection, call: Call) -> Outcome:
    """Do *call* in a savepoint of its own, through the driver: SQLAlchemy's would cost as much as the call."""
    execute = conn.connection.driver_connection.execute  # type: ignore[union-attr]
    before = taken_topics(conn)
    execute("SAVEPOINT ctfp_one")
    try:
        outcome: Outcome = True, call(conn)
    except Exception as error:
        if trouble(error) is not None:
            raise
        outcome = False, Failure()
        execute("ROLLBACK TO ctfp_one")
        taken_topics(conn)
    execute("RELEASE ctfp_one")
    touch(conn, *before)
    return outcome
