"""Work that is done anew whenever it has become stale, one time after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ctfd_twisted.errors import Busy

#: Seconds until work that has failed is tried again.
_RETRY = 1.0


class Again:
    """Calls *work*, and again where it was poked meanwhile, with *pause* seconds at least between two beginnings."""

    _log = Logger()

    def __init__(self, clock: IReactorTime, work: Callable[[], Awaitable[None]], *, pause: float = 0.0) -> None:
        self._clock = clock
        self._work = work
        self._pause = pause
        self._stale = False
        self._busy = False
        self._running = False
        self._due: IDelayedCall | None = None
        self._last = float("-inf")
        self._waiting: list[Deferred[None]] = []
        self._run: Deferred[None] = succeed(None)

    def start(self) -> None:
        """Work from now on."""
        self._running = True

    def stop(self) -> Deferred[None]:
        """Begin nothing more; fires when what is under way has ended."""
        self._running = False
        self._cancel()
        self._release()
        return self._run

    def mark(self) -> None:
        """There is something to do, once somebody waits for it."""
        self._stale = True

    def poke(self) -> None:
        """There is something to do."""
        self._stale = True
        self._plan()

    def settled(self) -> Deferred[None]:
        """Fires when what was to do by now is done, at once where that is nothing; fails with ``Busy`` where it failed.

        It is not put off for the pause.
        """
        if not (self._stale or self._busy) or not self._running:
            return succeed(None)
        waiter: Deferred[None] = Deferred(self._forget)
        self._waiting.append(waiter)
        if not self._busy:
            self._cancel()
            self._begin()
        return waiter

    def _plan(self) -> None:
        if self._busy or self._due is not None or not self._running:
            return
        left = self._last + self._pause - self._clock.seconds()
        if left <= 0:
            self._begin()
        else:
            self._due = self._clock.callLater(left, self._begin)

    def _begin(self) -> None:
        self._due = None
        self._busy = True
        self._stale = False
        self._last = self._clock.seconds()
        waiting, self._waiting = self._waiting, []
        self._run = Deferred.fromCoroutine(self._once(waiting))

    async def _once(self, waiting: list[Deferred[None]]) -> None:
        failed = False
        try:
            await self._work()
        except Busy:
            failed = self._stale = True  # the database has said so itself, once
        except Exception:  # noqa: BLE001 - whatever it was, it is tried again
            self._log.failure("what is new could not be read; the next try is in {seconds} s", seconds=_RETRY)
            failed = self._stale = True
        self._busy = False
        for waiter in waiting:
            if failed:
                waiter.errback(Busy())
            else:
                waiter.callback(None)
        if not self._busy:  # else somebody who waited has begun the next time
            self._go_on(failed=failed)

    def _go_on(self, *, failed: bool) -> None:
        if not self._running:
            self._release()
        elif failed:
            self._due = self._clock.callLater(_RETRY, self._begin)
        elif self._waiting:
            self._begin()
        elif self._stale:
            self._plan()

    def _forget(self, waiter: Deferred[None]) -> None:
        if waiter in self._waiting:
            self._waiting.remove(waiter)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.errback(Busy())

    def _cancel(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
