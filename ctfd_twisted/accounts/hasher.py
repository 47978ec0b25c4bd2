"""Password hashes in threads of their own, so that a rush of sign-ins delays neither the reactor nor the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred

from ctfd_twisted.accounts import passwords
from ctfd_twisted.db.database import Start
from ctfd_twisted.errors import Busy

T = TypeVar("T")

#: So many hashes may wait or be under way; more are answered 503. At cost 10 and two threads these take about 5 s.
WAITING: Final = 200


class Hasher:
    """Makes and verifies password hashes.

    :param start: starts the work in a thread; tests start it inline (see :mod:`ctfd_twisted.db.threads`).
    :param rounds: bcrypt's cost of new hashes, 4 to 20.
    """

    def __init__(self, start: Start, *, rounds: int = 10, waiting: int = WAITING) -> None:
        self._start = start
        self._rounds = rounds
        self._bound = waiting
        self._waiting = 0

    def make(self, password: str) -> Deferred[str]:
        """Return a new hash of *password*; raises ``Busy`` where too many wait."""
        return self._work(lambda: passwords.make_hash(password, self._rounds))

    def verify(self, password: str, stored: str | None) -> Deferred[bool]:
        """Return whether *password* belongs to *stored*; raises ``Busy`` where too many wait."""
        return self._work(lambda: passwords.verify(password, stored))

    def verify_as_long(self, password: str, like: str | None) -> Deferred[bool]:
        """Return false after the time that a password is verified in against *like*, or against a hash of our own."""
        return self._work(lambda: passwords.verify(password, passwords.decoy(like, self._rounds)) and False)

    def _work(self, work: Callable[[], T]) -> Deferred[T]:
        if self._waiting >= self._bound:
            raise Busy
        self._waiting += 1
        # Without a canceller of its own: a hash that was begun is finished, and only the caller stops waiting.
        outcome: Deferred[T] = Deferred()

        def done(succeeded: bool, value: Any) -> None:  # noqa: FBT001 - the thread pool's callback has this shape
            self._waiting -= 1
            if succeeded:
                outcome.callback(value)
            else:
                outcome.errback(value)

        self._start(work, done)
        return outcome
