"""Writes that wait at the same moment are one transaction, made by one function that is given all of them.

None is answered before all of them are committed (docs/adr/0084-answers-are-judged-together.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import msgspec
from sqlalchemy import Connection
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.db.queue import Settle
from ctfd_twisted.errors import Busy

A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

#: So many share a transaction at most: whoever was first waits for the last.
LARGEST: Final = 32
#: So many are done alone at a time: each may wait in a thread, and the other threads are for those who need not.
ALONE_AT_ONCE: Final = 4


class Alone(msgspec.Struct, frozen=True):
    """Said of one that would keep the others waiting: it gets a transaction of its own."""


ALONE: Final = Alone()


class WriteMany(Protocol[A_contra, R_co]):
    """One transaction for many."""

    def __call__(
        self, conn: Connection, asked: Sequence[A_contra], *, alone: bool
    ) -> Sequence[R_co | Exception | Alone]:
        """What comes of each of *asked*, in their order: its value, or the error that its caller is told.

        It has written nothing for those whose outcome is an error. Anything that it raises undoes all of them, and then
        each is done alone. *alone*: there is one, which may wait for a lock; otherwise nothing may, and it answers
        ``ALONE`` for what would have to. It may be called again from the start, as with ``Database.run``.
        """


class _Piece(Generic[A]):
    __slots__ = ("alone", "asked", "deferred", "item", "settle")

    def __init__(self, item: A, settle: Settle, asked: float) -> None:
        self.item = item
        self.settle = settle
        self.asked = asked
        self.deferred: Deferred[Any] = Deferred()
        #: Its own transaction, where it has one.
        self.alone: Deferred[Any] | None = None

    def tell(self, succeeded: bool, value: Any) -> None:  # noqa: FBT001 - an outcome
        """Give the outcome to the caller, who may have left."""
        if not self.deferred.called:
            (self.deferred.callback if succeeded else self.deferred.errback)(value)


class _Done(msgspec.Struct, frozen=True, eq=False):
    """What has come of one turn: its pieces and their outcomes, the topics of all, and when it began and ended."""

    pieces: list[_Piece[Any]]
    outcomes: list[tuple[bool, Any]]
    news: frozenset[str]
    began: float
    ended: float


class Counted(Protocol):
    """Counts one of many: the seconds that it waited and that its transaction took, and its outcome.

    It took None where it was not let in.
    """

    def __call__(self, waited: float, took: float | None, outcome: tuple[bool, Any]) -> None:
        """Count it."""


class Together(Generic[A, R]):
    """What waits to be written together.

    :param start: puts work in line for a thread, as ``Queue.put`` does.
    :param write: makes the transaction of many, in a thread: an outcome for each, and the topics of all.
    :param alone: makes a transaction of one, for which the first had no time.
    :param publish: tells topics.
    :param counted: counts what was done.
    :param most: so many may wait; more are refused.
    :param patience: seconds after which what waits is not begun any more.
    :param late: what is raised instead then.
    """

    def __init__(
        self,
        start: Callable[[Callable[[], _Done]], Deferred[_Done]],
        write: Callable[[Sequence[A]], tuple[list[tuple[bool, Any]], frozenset[str]]],
        alone: Callable[[A], Deferred[R]],
        publish: Callable[[frozenset[str]], None],
        counted: Counted,
        *,
        most: int,
        patience: float,
        late: Callable[[], Exception],
        seconds: Callable[[], float],
    ) -> None:
        self._start = start
        self._write = write
        self._alone = alone
        self._publish = publish
        self._counted = counted
        self._most = most
        self._patience = patience
        self._late = late
        self._seconds = seconds
        # The reactor's thread appends, and takes away whoever has left; a writer takes from the other end. Each is one
        # step of a deque.
        self._waiting: deque[_Piece[A]] = deque()
        # Whether a thread is at it, or will be: those who come meanwhile are the next who share a transaction.
        self._in_line = False
        # Those who have to be done alone and are not begun yet, and how many are.
        self._aside: deque[_Piece[A]] = deque()
        self._alone_now = 0

    def put(self, item: A, settle: Settle) -> Deferred[R]:
        """Write *item* with others and give back what *settle* makes of its outcome; otherwise as ``Queue.put``."""
        if len(self._waiting) + len(self._aside) >= self._most:
            raise self._refused(self._late())
        piece = _Piece(item, settle, self._seconds())
        piece.deferred = Deferred(lambda _: self._leave(piece))
        self._waiting.append(piece)
        if not self._in_line:
            try:
                self._line_up()
            except Busy as busy:
                self._leave(piece)
                raise self._refused(busy) from None
        return piece.deferred

    def _refused(self, error: Exception) -> Exception:
        self._counted(0, None, (False, Failure(error)))
        return error

    def _leave(self, piece: _Piece[A]) -> None:
        if piece.alone is not None:
            piece.alone.cancel()
            return
        for line in (self._waiting, self._aside):
            # Where it is in neither, it was begun and will end; only its caller stops waiting.
            with suppress(ValueError):
                line.remove(piece)

    def _line_up(self) -> None:
        self._in_line = True
        try:
            done = self._start(self._work)
        except Busy:
            self._in_line = False
            raise
        done.addBoth(self._told)

    def _work(self) -> _Done:
        """Take what waits, and do it; in a thread."""
        began = self._seconds()
        taken: list[_Piece[A]] = []
        late: list[_Piece[A]] = []
        try:
            while len(taken) < LARGEST:
                piece = self._waiting.popleft()
                (late if began - piece.asked > self._patience else taken).append(piece)
        except IndexError:
            pass  # that was all
        outcomes: list[tuple[bool, Any]] = []
        news: frozenset[str] = frozenset()
        if taken:
            try:
                outcomes, news = self._write([piece.item for piece in taken])
            except BaseException:  # noqa: BLE001 - handed over, as a thread would
                outcomes = [(False, Failure())] * len(taken)
        outcomes += [(False, Failure(self._late()))] * len(late)
        return _Done(taken + late, outcomes, news, began, self._seconds())

    def _told(self, result: _Done | Failure) -> None:
        self._in_line = False
        if isinstance(result, Failure):
            # The turn came too late and took nothing. The next may do so as well: who has waited for too long is told.
            result = self._overdue(self._waiting)
        self._publish(result.news)
        settled = self._settled(result)
        if self._waiting:
            try:
                self._line_up()
            except Busy as busy:
                settled += [(piece, False, Failure(self._refused(busy))) for piece in self._waiting]
                self._waiting.clear()
        self._do_alone()
        for piece, succeeded, value in settled:
            piece.tell(succeeded, value)

    def _overdue(self, line: deque[_Piece[A]]) -> _Done:
        """Take those out of *line* who have waited for too long, while no thread takes from it."""
        now = self._seconds()
        late: list[_Piece[A]] = []
        while line and now - line[0].asked > self._patience:
            late.append(line.popleft())
        return _Done(late, [(False, Failure(self._late()))] * len(late), frozenset(), now, now)

    def _settled(self, done: _Done) -> list[tuple[_Piece[A], bool, Any]]:
        """What the callers are told; what has to be done alone is begun when it can be, and told later."""
        settled: list[tuple[_Piece[A], bool, Any]] = []
        for piece, (succeeded, value) in zip(cast("list[_Piece[A]]", done.pieces), done.outcomes, strict=True):
            if value is ALONE:
                if not piece.deferred.called:  # otherwise nothing was begun for it, and nobody waits any more
                    self._aside.append(piece)
                continue
            outcome = piece.settle(succeeded, value)
            if not succeeded and value.check(Busy):  # it came too late, and was not begun
                self._counted(0, None, outcome)
            else:
                self._counted(done.began - piece.asked, done.ended - done.began, outcome)
            settled.append((piece, *outcome))
        return settled

    def _do_alone(self) -> None:
        """Begin what has to be done alone, as far as it may be now."""
        for piece, succeeded, value in self._settled(self._overdue(self._aside)):
            piece.tell(succeeded, value)
        while self._aside and self._alone_now < ALONE_AT_ONCE:
            piece = self._aside.popleft()
            try:
                piece.alone = self._alone(piece.item)
            except Busy:
                piece.tell(False, Failure())
                continue
            self._alone_now += 1
            piece.alone.addBoth(self._was_alone, piece)

    def _was_alone(self, outcome: R | Failure, piece: _Piece[A]) -> None:
        self._alone_now -= 1
        self._do_alone()
        piece.tell(not isinstance(outcome, Failure), outcome)
