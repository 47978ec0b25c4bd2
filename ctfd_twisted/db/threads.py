"""Threads for work that waits: how ``Database`` and the password hasher leave the reactor's thread and come back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.queue import Done, Start, outcome_of

P = ParamSpec("P")
T = TypeVar("T")


class InThread(Protocol):
    """Calls a function in a thread, and gives its value to the Deferred."""

    def __call__(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        """Call ``fn(*args)`` in a thread; what was begun there ends, also where the Deferred is cancelled."""


class FromThread(Protocol):
    """The one thing that a thread may ask of the reactor."""

    def __call__(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        """Call *callable* in the reactor's thread, soon."""


def start_in(pool: ThreadPool, call_from_thread: FromThread) -> Start:
    """A ``Start`` that works in the threads of *pool* and reports through ``reactor.callFromThread``."""
    return _Line(pool, call_from_thread).start


class _Line:
    """What waits for the threads of one pool, and what has come of it.

    A thread that has done something takes the next thing itself, and the reactor is woken once for all that was done
    meanwhile. To hand each piece over by itself wakes a thread for each, and the reactor for each; in a rush that
    took the reactor as long as answering.
    """

    _log = Logger()

    def __init__(self, pool: ThreadPool, call_from_thread: FromThread) -> None:
        self._pool = pool
        self._call = call_from_thread
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Callable[[], Any], Done]] = deque()
        self._busy = 0
        self._ended: deque[tuple[Done, bool, Any]] = deque()
        self._told = True

    def start(self, work: Callable[[], Any], done: Done) -> None:
        """Let a thread do *work*, one that is at it already or one more."""
        with self._lock:
            self._waiting.append((work, done))
            if self._busy >= self._pool.max:
                return
            self._busy += 1
        self._pool.callInThread(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                work, done = self._waiting.popleft()
            ended = (done, *outcome_of(work))
            # Nothing of this piece is held while the next is done.
            del work, done
            with self._lock:
                self._ended.append(ended)
                wake, self._told = self._told, False
            del ended
            if wake:
                self._call(self._tell)

    def _tell(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, deque()
            self._told = True
        for done, succeeded, value in ended:
            with self._log.failuresHandled("what a thread has done could not be taken"):
                done(succeeded, value)


def in_thread(start: Start) -> InThread:
    """An ``InThread`` that works where *start* does."""

    def call(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        outcome: Deferred[T] = Deferred()

        def done(succeeded: bool, value: Any) -> None:  # noqa: FBT001 - the thread pool's callback has this shape
            if succeeded:
                outcome.callback(value)
            else:
                outcome.errback(value)

        start(lambda: fn(*args, **kwargs), done)
        return outcome

    return call


def carried_through(work: Coroutine[Deferred[Any], Any, T]) -> Deferred[T]:
    """The value of *work*, which goes on to its end also when nobody waits for it any more.

    Klein cancels a handler whose client hangs up; what has been committed may need more to be done.
    """
    outcome: Deferred[T] = Deferred()
    # Where the wait was cancelled, this is the one callback that a Deferred takes without a word.
    Deferred.fromCoroutine(work).addCallbacks(outcome.callback, outcome.errback)
    return outcome
