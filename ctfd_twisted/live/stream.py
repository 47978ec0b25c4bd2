"""One listener to events, who is written to no faster than they read."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.web.server import Request
from zope.interface import implementer

from ctfd_twisted.live.frames import PING

#: So many frames wait for a listener who does not read.
QUEUE: Final = 32
#: After so many pings in a row that could not be sent nobody is believed to be there.
SILENCE: Final = 6


@implementer(IPushProducer)
class Stream:
    """Frames to one request, until it ends.

    Whoever does not keep up is cut off, and told nothing: their client connects again and asks the API for what it has
    missed. So what one listener costs has a bound.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._waiting: deque[bytes] = deque()
        self._paused = False
        self._unsent = 0
        self._ended = False
        #: Fires when the stream was ended from here; cancelled when the listener has gone.
        self.ended: Deferred[None] = Deferred(self._gone)

    def begin(self) -> None:
        """Send the first ping."""
        # Nobody knows how long it will be.
        self._request.responseHeaders.removeHeader(b"content-length")
        self._request.registerProducer(self, streaming=True)
        self._request.write(PING)

    def tell(self, frame: bytes) -> None:
        """Send *frame*, and a ping that pushes it through whatever collects on the way."""
        if self._ended:
            return
        if not self._paused:
            self._request.write(frame + PING)
        elif len(self._waiting) < QUEUE:
            self._waiting.append(frame)
        else:
            self._cut()

    def ping(self) -> None:
        """Show that the stream is alive, or find that it is not."""
        if self._ended:
            return
        if not self._paused:
            self._request.write(PING)
            return
        self._unsent += 1
        if self._unsent >= SILENCE:
            self._cut()

    def end(self) -> None:
        """End the answer in good order; a listener who does not read is cut off."""
        if self._ended:
            return
        if self._paused:
            self._cut()
            return
        self._ended = True
        self._request.unregisterProducer()
        self.ended.callback(None)

    def pauseProducing(self) -> None:
        """Hold back: what was sent last has not been read yet."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Go on."""
        self._paused = False
        self._unsent = 0
        while self._waiting and not self._paused:
            self._request.write(self._waiting.popleft() + PING)

    def stopProducing(self) -> None:
        """Nothing more can be sent."""
        self._gone(self.ended)

    def _gone(self, _: Deferred[None]) -> None:
        self._ended = True
        self._waiting.clear()

    def _cut(self) -> None:
        """Drop the connection; that it is gone is then told as by a listener who leaves."""
        self._gone(self.ended)
        channel: Any = self._request.channel
        if channel is not None:
            channel.transport.abortConnection()
