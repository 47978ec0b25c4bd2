"""The service that removes content which belongs to nobody."""

from __future__ import annotations

from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ctfd_twisted.files.uploads import Uploads

#: Seconds from one look to the next; the first is at the start.
EVERY: Final = 3600.0


class Tidying(Service):
    """Looks for what killed processes left behind. Every node may: what one has removed is no error to another."""

    _log = Logger()
    name = "tidying"

    def __init__(self, clock: IReactorTime, uploads: Uploads) -> None:
        self._uploads = uploads
        self._loop = LoopingCall(self._look)
        self._loop.clock = clock
        self._looped: Deferred[LoopingCall] | None = None

    def startService(self) -> None:
        """Look at once, then every hour."""
        super().startService()
        self._looped = self._loop.start(EVERY)

    def stopService(self) -> Deferred[LoopingCall] | None:
        """Look no more; fires when a look under way has ended."""
        super().stopService()
        if self._loop.running:
            self._loop.stop()
        return self._looped

    def _look(self) -> Deferred[Any]:
        looking = Deferred.fromCoroutine(self._uploads.tidy())
        return looking.addErrback(
            lambda failure: self._log.failure("abandoned files can't be looked for; again in an hour", failure)
        )
