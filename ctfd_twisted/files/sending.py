"""A file's bytes to a client, read in threads, no faster than the client takes them."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.web.server import Request
from zope.interface import implementer

from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.content import Content

#: So many bytes are read at a time, and are in memory for each download.
PIECE: Final = 128 * 1024
#: Seconds for which a client may take nothing before it is cut off.
PATIENCE: Final = 60


@implementer(IPushProducer)
class Download:
    """Sends *wanted* bytes of *content* to one request, and closes the file in any case."""

    def __init__(self, content: Content, wanted: range, in_thread: InThread, clock: IReactorTime) -> None:
        self._file = content.file
        self._wanted = wanted
        self._in_thread = in_thread
        self._clock = clock
        self._resumed: Deferred[None] | None = None
        self._impatience: IDelayedCall | None = None
        self._request: Any = None

    async def send(self, request: Request) -> None:
        """Write all of it to *request*; ends early, by cancelling, where the client goes away."""
        self._request = request
        request.registerProducer(self, True)
        try:
            await self._in_thread(self._file.seek, self._wanted.start)
            left = len(self._wanted)
            while left:
                if self._resumed is not None:
                    await self._resumed
                piece = await self._in_thread(self._file.read, min(left, PIECE))
                if not piece:
                    # Cut short by somebody else while it was sent; the length that was announced can't be kept.
                    self._cut_off()
                    return
                left -= len(piece)
                request.write(piece)
        finally:
            self._calm()
            if self._request.channel is not None:
                request.unregisterProducer()
            self.close()

    def close(self) -> None:
        """Close the file; in a thread, since a read that is under way is waited for."""
        self._in_thread(self._file.close)

    def pauseProducing(self) -> None:
        """The client has enough for now."""
        if self._resumed is None:
            self._resumed = Deferred()
            self._impatience = self._clock.callLater(PATIENCE, self._cut_off)

    def resumeProducing(self) -> None:
        """The client takes more."""
        self._calm()
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.callback(None)

    def stopProducing(self) -> None:
        """The client is gone; whoever waits for ``send`` is told by the request."""

    def _calm(self) -> None:
        if self._impatience is not None and self._impatience.active():
            self._impatience.cancel()

    def _cut_off(self) -> None:
        self._request.channel.transport.abortConnection()
