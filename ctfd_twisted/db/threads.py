"""Threads for work that waits: how ``Database`` and the password hasher leave the reactor's thread and come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.database import Done, Start


class FromThread(Protocol):
    """The one thing that a thread may ask of the reactor."""

    def __call__(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        """Call *callable* in the reactor's thread, soon."""


def start_in(pool: ThreadPool, call_from_thread: FromThread) -> Start:
    """A ``Start`` that works in a thread of *pool* and reports through ``reactor.callFromThread``."""

    def start(work: Callable[[], Any], done: Done) -> None:
        pool.callInThreadWithCallback(lambda ok, value: call_from_thread(done, ok, value), work)

    return start
