"""Queues before threads: bounded in number and in time, and left by those who have hung up.

What waits is counted, and beyond a bound refused at once with the time after which it may be asked for again: a server
that is too busy says so, instead of letting everybody wait until they give up. :class:`Turns` lets kinds of work share
threads without one of them keeping the others out.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from math import ceil
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.errors import Busy

#: How much the newest duration counts in the mean of those before it.
NEWEST: Final = 1 / 16
#: Whoever is refused is sent away for at most so many seconds.
LONGEST: Final = 60
#: So many who were refused are expected to come back at most.
MANY: Final = 10_000

Done = Callable[[bool, Any], None]
#: ``start(work, done)`` calls ``work()`` somewhere and then ``done(succeeded, value_or_failure)`` in the reactor's
#: thread.
Start = Callable[[Callable[[], Any], Done], None]
#: The outcome that is told, of the one that there was.
Settle = Callable[[bool, Any], tuple[bool, Any]]


def start_inline(work: Callable[[], Any], done: Done) -> None:
    """Call *work* here and now: how tests run transactions without a thread."""
    done(*outcome_of(work))


def outcome_of(work: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether *work* succeeds, and its value or ``Failure``."""
    """Call *work*: whether it succeeded, and its value or the failure."""
    try:
        return True, work()
    except BaseException:  # noqa: BLE001 - handed over as a Failure, as a thread would
        return False, Failure()


def _as_it_is(succeeded: bool, value: Any) -> tuple[bool, Any]:  # noqa: FBT001 - an outcome
    return succeeded, value


class Turns:
    """Threads that several kinds of work share: while all of them wait, each has its turn."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._kinds: list[deque[tuple[Callable[[], Any], Done]]] = []
        self._turn = count()
        self._lock = threading.Lock()

    def kind(self) -> Start:
        """A ``Start`` for one more kind, in which what came first is begun first."""
        waiting: deque[tuple[Callable[[], Any], Done]] = deque()
        with self._lock:
            self._kinds.append(waiting)

        def start(work: Callable[[], Any], done: Done) -> None:
            waiting.append((work, done))
            self._start(self._next, self._told)

        return start

    def _next(self) -> tuple[Done, bool, Any]:
        """Do, in a thread, what has its turn there; there is something, for this is called once for each."""
        with self._lock:
            while True:
                waiting = self._kinds[next(self._turn) % len(self._kinds)]
                if waiting:
                    work, done = waiting.popleft()
                    break
        return (done, *outcome_of(work))

    def _told(self, _: bool, value: tuple[Done, bool, Any]) -> None:  # noqa: FBT001 - the callback has this shape
        done, succeeded, outcome = value
        done(succeeded, outcome)


class Queue:
    """Work of one kind before its threads.

    :param most: so much may wait or be under way; more is refused.
    :param threads: how many of it are done at a time.
    :param patience: seconds after which what waits is not begun any more: whoever asked has given up by then.
    :param late: what is raised instead then.
    :param foresee: refuse at once also what would wait for longer than that, by the time that such work takes.
    :param seconds: a clock that only goes forwards; it is asked in threads as well.
    """

    def __init__(
        self,
        start: Start,
        *,
        most: int,
        threads: int,
        patience: float,
        late: Callable[[], Exception] | None = None,
        foresee: bool = False,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start = start
        self._most = most
        self._threads = threads
        self._patience = patience
        self._late = late or self._busy
        self._foresee = foresee
        self._seconds = seconds
        self._mean = 0.0
        self._refused = 0
        #: How much waits or is under way.
        self.waiting = 0

    @property
    def wait(self) -> float:
        """Seconds that what is put in now will probably wait for its thread."""
        return max(0, self.waiting + 1 - self._threads) * self._mean / self._threads

    def put(self, work: Callable[[], Any], settle: Settle = _as_it_is) -> Deferred[Any]:
        """Do *work* in a thread, and give back its value.

        What is cancelled before it was begun is not begun; afterwards only its caller stops waiting. *settle* makes the
        outcome that is given back of that of the work, in the reactor's thread, whether or not anybody still waits.
        Raises ``Busy`` where too much waits.
        """
        if self.waiting >= self._most or (self._foresee and self.wait > self._patience):
            raise self._busy()
        self.waiting += 1
        asked = self._seconds()
        # Whoever takes the ticket decides: the thread that begins, or the caller who leaves.
        ticket = [None]

        def left(_: Deferred[Any]) -> None:
            if _taken(ticket):
                self.waiting -= 1

        def begin() -> tuple[bool, Any] | None:
            return self._timed(work, asked) if _taken(ticket) else None

        def done(_: bool, told: tuple[bool, Any] | None) -> None:  # noqa: FBT001 - the thread pool's callback
            if told is None:
                return  # it was left, and is counted no more
            self.waiting -= 1
            self._refused = max(0, self._refused - 1)
            succeeded, value = settle(*told)
            if outcome.called:
                return  # by its caller, who has left
            if succeeded:
                outcome.callback(value)
            else:
                outcome.errback(value)

        outcome: Deferred[Any] = Deferred(left)
        self._start(begin, done)
        return outcome

    def _timed(self, work: Callable[[], Any], asked: float) -> tuple[bool, Any]:
        """Do *work* in this thread, if it is not too late, and learn how long such work takes."""
        begins = self._seconds()
        if begins - asked > self._patience:
            return outcome_of(self._give_up)
        outcome = outcome_of(work)
        took = self._seconds() - begins
        # Two threads may overwrite each other here, which an average survives.
        self._mean += (took - self._mean) * (NEWEST if self._mean else 1)
        return outcome

    def _give_up(self) -> None:
        raise self._late()

    def _busy(self) -> Busy:
        """Who is refused comes back when what waits has been done, and then those who were refused before."""
        drained = (self.waiting + self._refused) * self._mean / self._threads
        self._refused = min(MANY, self._refused + 1)
        return Busy(max(1, min(LONGEST, ceil(drained))))


def _taken(ticket: list[None]) -> bool:
    """Whether *ticket* was still there: to take it is one step, in whichever thread."""
    try:
        ticket.pop()
    except IndexError:
        return False
    return True
