"""Password hashes in threads of their own, so that a rush of sign-ins delays neither the reactor nor the database."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.accounts import passwords
from ctfd_twisted.db.queue import Queue, Start

#: So many hashes may wait or be under way; more are answered 503.
WAITING: Final = 500
#: Nobody is let into the queue who would wait for longer than so many seconds. Browsers would wait for longer, people
#: not: they ask again, and the first hash is made for nobody.
PATIENCE: Final = 10
#: How many are made at a time: they compute, so more than the cores would only slow the rest.
THREADS: Final = max(2, min(4, os.cpu_count() or 1))
#: How much they step back behind the reactor and the database's threads, from 0 to 19.
NICE: Final = 10


class Hasher:
    """Makes and verifies password hashes.

    A hash whose caller has hung up before it was begun is not made.

    :param start: starts the work in a thread; tests start it inline (see :mod:`ctfd_twisted.db.threads`).
    :param rounds: bcrypt's cost of new hashes, 4 to 20.
    :param seconds: a clock that only goes forwards; it is asked in threads as well.
    """

    def __init__(
        self,
        start: Start,
        *,
        rounds: int = 10,
        waiting: int = WAITING,
        threads: int = THREADS,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rounds = rounds
        #: What waits for a thread; nobody else puts into it.
        self.queue = Queue(start, most=waiting, threads=threads, patience=PATIENCE, foresee=True, seconds=seconds)

    def make(self, password: str) -> Deferred[str]:
        """Return a new hash of *password*; raises ``Busy`` where too many wait."""
        return self.queue.put(lambda: passwords.make_hash(password, self._rounds))

    def verify(self, password: str, stored: str | None) -> Deferred[bool]:
        """Return whether *password* belongs to *stored*; raises ``Busy`` where too many wait."""
        return self.queue.put(lambda: passwords.verify(password, stored))

    def verify_as_long(self, password: str, like: str | None) -> Deferred[bool]:
        """Return false after the time that a password is verified in against *like*, or against a hash of our own."""
        return self.queue.put(lambda: passwords.verify(password, passwords.decoy(like, self._rounds)) and False)


class PatientThread(threading.Thread):
    """A thread that gets the processor when nobody else wants it.

    Linux alone knows priorities of threads; elsewhere it is a thread like any other.
    """

    def run(self) -> None:
        """Step back, and begin."""
        if sys.platform == "linux":
            with suppress(OSError):  # where a sandbox forbids it
                own = threading.get_native_id()
                os.setpriority(os.PRIO_PROCESS, own, min(19, os.getpriority(os.PRIO_PROCESS, own) + NICE))
        super().run()


def hashing_threads() -> ThreadPool:
    """The threads in which hashes are made; not started yet."""
    pool = ThreadPool(0, THREADS, "passwords")
    pool.threadFactory = PatientThread
    return pool
