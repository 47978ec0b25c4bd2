"""One listener to events, who is written to no faster than they read."""

from __future__ import annotations

import socket
from typing import Any, Final, Protocol

from twisted.internet.interfaces import IPushProducer
from twisted.python.failure import Failure
from twisted.web.server import Request
from zope.interface import implementer

from ctfd_twisted.live.frames import LAST, unchunked
from ctfd_twisted.live.views import PLAIN, View

#: So many events wait for a listener who does not read.
QUEUE: Final = 32
#: After so many beats in a row that could not be sent nobody is believed to be there, by whether the stream is plain.
SILENCE: Final = {True: 6, False: 4}


#: Bytes of one stream that the system keeps for a listener who does not read; it would go up to megabytes.
_KEPT: Final = 64 * 1024


class Audience(Protocol):
    """What a stream needs of those who know all streams; ``hub.Hub`` is the one there is."""

    def catch_up(self, stream: Stream) -> None:
        """Tell *stream* how everything stands, because it has missed what happened."""

    def left(self, stream: Stream) -> None:
        """*stream* is over."""

    def see_off(self, stream: Stream) -> None:
        """Wait a little until the connection of *stream* is closed, and cut it then."""


class Origin(Protocol):
    """The server's list of connections; ``http.server.QuietSite``."""

    channels: set[Any]

    def forget(self, channel: Any) -> None:
        """*channel* is closed."""


def takes_at_once(transport: Any) -> bool:
    """Whether *transport* is a socket without TLS, and nothing else."""
    tls = hasattr(transport, "wrappedProtocol") or getattr(transport, "TLS", False)
    return not tls and hasattr(transport, "writeSomeData")


def bound_socket(handle: Any) -> None:
    """Let the system keep no more than :data:`_KEPT` bytes for the socket *handle*, where it is one."""
    if isinstance(handle, socket.socket):
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KEPT)


@implementer(IPushProducer)
class Stream:
    """Events to one connection, until it ends.

    It takes the connection over from the channel and the request that began it, which then are dropped: ten thousand
    idle listeners should not keep ten thousand requests with their headers, handlers and timeouts. So it is what the
    transport calls its protocol, and there is nothing of HTTP left to it but the chunks.

    Who does not keep up costs no more than :data:`QUEUE` references to events that are there once for all: after that
    they are dropped, and told how everything stands when they read again. Whoever listens as CTFd's clients do, which
    know no such event, is cut off instead: they connect again and ask the API for what they have missed.
    """

    __slots__ = (
        "_alone",
        "_behind",
        "_chunked",
        "_closed",
        "_direct",
        "_ended",
        "_hub",
        "_paused",
        "_site",
        "_transport",
        "_unsent",
        "_waiting",
        "address",
        "bits",
        "player_id",
        "sid",
        "slot",
        "view",
    )

    def __init__(self, hub: Audience, request: Request, who: tuple[int, str], sid: str, bits: int, view: View) -> None:
        channel: Any = request.channel
        self._hub = hub
        self._transport: Any = channel.transport
        self._site: Origin = channel.site
        self._chunked = bool(request.chunked)
        self._waiting: list[bytes] | None = None
        self._paused = False
        self._behind = False
        self._ended = False
        self._closed = False
        self._alone = False
        self._direct = False
        self._unsent = 0
        self.player_id, self.address = who
        self.sid = sid
        self.bits = bits
        self.view = view
        self.slot = 0

    @property
    def is_open(self) -> bool:
        """Whether it has not come to its end."""
        return not self._ended

    @property
    def is_alone(self) -> bool:
        """Whether the request is gone that began it."""
        return self._alone

    def take_over(self, channel: Any, reason: Failure) -> None:
        """Be the protocol of *channel*'s transport, and let *channel* and its request end as by *reason*."""
        self._alone = True
        transport = self._transport
        transport.unregisterProducer()
        # A transport over TLS has another name for it.
        if hasattr(transport, "wrappedProtocol"):
            transport.wrappedProtocol = self
        else:
            transport.protocol = self
            # Whatever is not sent at once pauses the stream, so that nothing waits here while it is not paused.
            transport.bufferSize = 0
        bound_socket(getattr(transport, "getHandle", lambda: None)())
        self._site.channels.add(self)
        channel.connectionLost(reason)
        transport.registerProducer(self, True)
        # The channel may have stopped reading to spare the request; a listener who hangs up has to be heard.
        transport.resumeProducing()

    def tell(self, data: bytes) -> None:
        """Send *data*, one chunk, or keep it until what was sent before has been read."""
        if self._ended or self._behind:
            return
        if not self._paused:
            self._write(data)
        elif self._waiting is None:
            self._waiting = [data]
        elif len(self._waiting) < QUEUE:
            self._waiting.append(data)
        elif self.bits == PLAIN:
            self.cut()
        else:
            self._waiting, self._behind = None, True

    def beat(self, data: bytes) -> None:
        """Show by *data* that the stream is alive, or find that it is not."""
        if self._ended:
            return
        if not self._paused:
            self._write(data)
            return
        self._unsent += 1
        if self._unsent >= SILENCE[self.bits == PLAIN]:
            self.cut()

    def end(self) -> None:
        """End the answer in good order; a listener who does not read is cut off."""
        if self._ended:
            return
        if self._paused:
            self.cut()
            return
        self._write(LAST)
        self._over()
        self._transport.loseConnection()
        if not takes_at_once(self._transport):
            # Who speaks TLS is asked whether they agree, and may not answer.
            self._hub.see_off(self)

    def cut(self) -> None:
        """Drop the connection, whatever is still to be sent."""
        self._over()
        if not self._closed:
            self._transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        """Take no notice: nothing can be asked where the answer has no end."""

    def connectionLost(self, reason: Failure) -> None:
        """The listener has gone, or was sent away."""
        del reason
        self._closed = True
        self._over()
        self._site.forget(self)

    def pauseProducing(self) -> None:
        """Hold back: what was sent last has not been read yet."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Go on."""
        self._paused = False
        self._unsent = 0
        # Of what the channel had written before something might still have waited until now.
        self._direct = self._alone and takes_at_once(self._transport)
        while self._waiting and not self._paused:
            self._write(self._waiting.pop(0))
        if not self._waiting:
            self._waiting = None
        if self._behind and not self._paused and not self._ended:
            self._behind = False
            self._hub.catch_up(self)

    def stopProducing(self) -> None:
        """Nothing more can be sent; that the connection is lost is told next."""
        self._ended = True

    def _write(self, data: bytes) -> None:
        if not self._chunked:
            if data == LAST:
                return
            data = unchunked(data)
        if self._direct:
            # By itself the transport would first ask to be told when the socket takes something, and then no longer:
            # with ten thousand sockets that do, this is most of the work.
            sent = self._transport.writeSomeData(data)
            if isinstance(sent, int) and sent == len(data):
                return
            if isinstance(sent, int) and sent > 0:
                data = data[sent:]
        self._transport.write(data)

    def _over(self) -> None:
        self._ended = True
        self._waiting = None
        self._hub.left(self)
