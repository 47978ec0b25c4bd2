"""Threads for work that waits: how ``Database`` and the password hasher leave the reactor's thread and come back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.database import Done, Start

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
    """A ``Start`` that works in a thread of *pool* and reports through ``reactor.callFromThread``."""

    def start(work: Callable[[], Any], done: Done) -> None:
        pool.callInThreadWithCallback(lambda ok, value: call_from_thread(done, ok, value), work)

    return start


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
