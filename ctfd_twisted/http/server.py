"""The HTTP server: twisted.web's, with bounds on what is read, and an end that cuts nobody short."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IDelayedCall, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.protocols.basic import LineReceiver
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from twisted.web.resource import IResource
from twisted.web.server import Request, Site

from ctfd_twisted.http.crowd import Crowd, room
from ctfd_twisted.http.intake import Intake, Taking

#: The largest body that is accepted, in bytes.
BODY_LIMIT: Final = 8 * 1024 * 1024
#: Seconds after which an idle connection is closed.
IDLE: Final = 60
#: A request has to be complete so many seconds after it began, unless it is so many bytes longer by then: who sends
#: one byte a minute would keep a connection for ever.
COMPLETE: Final = IDLE
LEAST: Final = 64 * 1024
#: A request has at most so many headers; twisted.web bounds them to 16 KiB together, first line included.
HEADERS: Final = 100
#: Seconds that a client has to agree to the end of its connection, and after connecting, to ask something.
AGREE: Final = 2


class BoundedRequest(Request):
    """A request whose body is refused before it is read when it is too large."""

    _refused = False
    _received = 0
    #: The body, where it is taken while it arrives.
    taking: Taking | None = None

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - twisted.web's name
        """Learn the body's announced length (None: it comes in chunks)."""
        channel: Any = self.channel
        intake: Intake | None = channel.site.intake
        limit = BODY_LIMIT
        if intake is not None and length != 0:
            # twisted.web tells a request its first line only after the body.
            self.method, self.uri = channel._command, channel._path  # noqa: SLF001
            self.path = self.uri.partition(b"?")[0]
            if intake.takes(self):
                limit = intake.limit
                self.taking = Taking(self, intake, channel.transport, partial(self._turned_away, length or 0))
        if length is not None and length > limit:
            self._refuse(limit)
        # What is refused, or taken elsewhere, needs no room here.
        super().gotLength(0 if self._refused or self.taking is not None else length)
        if self.taking is not None and not self._refused:
            self.taking.start()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted.web's name
        """Take a piece of the body."""
        if self._refused:
            return
        self._received += len(data)
        limit = self._limit()
        if self._received > limit:
            self._refuse(limit)
        elif self.taking is not None:
            self.taking.add(data)
        else:
            super().handleContentChunk(data)

    def _limit(self) -> int:
        """More than usual is read of a body that is taken elsewhere, or may be yet."""
        if self.taking is None or self.taking.admitted is False:
            return BODY_LIMIT
        return self.taking.limit

    def _turned_away(self, announced: int) -> None:
        """The body is not taken elsewhere, so the usual bound is its own: who said that it is larger need not go on."""
        if announced > BODY_LIMIT and not self._refused:
            self._refuse(BODY_LIMIT)

    def connectionLost(self, reason: Failure) -> None:
        """Leave nothing of a body that did not come to its end."""
        super().connectionLost(reason)
        if self.taking is not None:
            self.taking.abandon()

    def _refuse(self, limit: int) -> None:
        self._refused = True
        # Who asks whether to send the body has been answered; the channel would say "100 Continue" after it.
        self.requestHeaders.removeHeader(b"expect")
        message = b'{"message":"The request\'s body is larger than the %d bytes that are accepted."}' % limit
        channel: Any = self.channel
        channel.transport.write(
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(message), message)
        )
        channel.loseConnection()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802 - twisted.web's name
        """Answer, unless it was refused already; a body that is taken elsewhere has to arrive there first."""
        if self._refused:
            return
        if self.taking is None:
            super().requestReceived(command, path, version)
            return
        self.taking.end().addCallback(lambda _: self._taken(command, path, version))

    def _taken(self, command: bytes, path: bytes, version: bytes) -> None:
        taking, channel = self.taking, self.channel
        if taking is not None and channel is not None:
            self.notifyFinish().addBoth(lambda _: taking.abandon())
            super().requestReceived(command, path, version)


class Channel(HTTPChannel):
    """One connection, that can be asked to end after what it has begun."""

    maxHeaders = HEADERS  # noqa: N815 - twisted.web's name
    site: QuietSite
    #: The request that was answered last, where the client does not read the answer.
    _held: Request | None = None
    _ending = False
    _abort: IDelayedCall | None = None
    _leave: IDelayedCall | None = None
    _begun = False
    _since = 0
    #: When the client connected; None once it has asked something.
    _met: float | None = None

    def connectionMade(self) -> None:
        """Be known to the site."""
        super().connectionMade()
        self._met = self.site.reactor.seconds()
        self.site.channels.add(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Be forgotten by it."""
        super().connectionLost(reason)
        for call in (self._abort, self._leave):
            if call is not None and call.active():
                call.cancel()
        self.site.forget(self)

    def dataReceived(self, data: bytes) -> None:
        """Take what has come; more time is given to a new request, and to one that grows fast enough."""
        self._met = None
        self._since += len(data)
        if not self._begun or self._since >= LEAST:
            self._begun, self._since = True, 0
            self.resetTimeout()
        # Not twisted.web's own, which gives more time to each byte.
        LineReceiver.dataReceived(self, data)

    def requestDone(self, request: Request) -> None:  # noqa: N802 - twisted.web's name
        """Go on to the next request, which may have come already, when there is room for its answer.

        A client that sends requests and does not read would else have the answers to all of them pile up here.
        """
        self._begun = False
        if self._waitingForTransport and self.persistent:
            self._held = request
            self.setTimeout(IDLE)
            return
        super().requestDone(request)

    def resumeProducing(self) -> None:
        """Go on: the client has read what was written."""
        held, self._held = self._held, None
        super().resumeProducing()
        if held is not None:
            super().requestDone(held)

    def loseConnection(self) -> None:  # noqa: N802 - twisted.web's name
        """Close the connection when everything is written."""
        super().loseConnection()
        if self._ending and self._abort is None and self.isSecure():
            # Who speaks TLS is asked whether they agree, and an idle client does not listen.
            transport: Any = self.transport
            self._abort = self.callLater(AGREE, transport.abortConnection)

    def checkPersistence(self, request: Request, version: bytes) -> bool:  # noqa: N802 - twisted.web's name
        """Whether another request may follow *request* on this connection."""
        if self._ending:
            request.responseHeaders.setRawHeaders(b"connection", [b"close"])
            return False
        persistent: bool = super().checkPersistence(request, version)
        return persistent

    def end(self) -> None:
        """Close the connection: at once where nothing was asked, else after the answer.

        Who has just connected has asked something that is still on its way.
        """
        self._ending = True
        if not self.requests:
            if self._met is not None and self.site.reactor.seconds() - self._met < AGREE:
                self._leave = self.callLater(AGREE, self._hang_up)
            else:
                self.loseConnection()
            return
        self.persistent = False
        for request in self.requests:
            request.responseHeaders.setRawHeaders(b"connection", [b"close"])

    def _hang_up(self) -> None:
        if not self.requests:
            self.loseConnection()


class QuietSite(Site):
    """A site that writes no line per request: that is the proxy's trade, and costs as much as a warm answer."""

    protocol: Any = Channel

    def __init__(
        self,
        resource: IResource,
        reactor: IReactorTime | None = None,
        intake: Intake | None = None,
        most: int | None = None,
    ) -> None:
        """At most *most* connections are taken; by default what the process is allowed."""
        # Forms are read by whoever asks for them, with bounds (forms.py).
        super().__init__(
            resource, requestFactory=BoundedRequest, timeout=IDLE, reactor=reactor, parsePOSTFormSubmission=False
        )
        self.intake = intake
        self.channels: set[Channel] = set()
        self._crowd = Crowd(self.reactor, room() if most is None else most)
        self._ended: Deferred[None] | None = None

    def acceptableProtocols(self) -> list[bytes]:  # noqa: N802 - twisted.web's name
        """What is offered to a client that speaks TLS: what :class:`Channel` speaks, also where ``h2`` is installed."""
        return [b"http/1.1"]

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A channel, or where there is no room for one, what says so."""
        if self._crowd.takes(len(self.channels)):
            return super().buildProtocol(addr)
        return self._crowd.turned()

    def log(self, request: object) -> None:
        """Write nothing."""

    def end(self) -> Deferred[None]:
        """Close every connection after the answer that is under way on it; fires when the last one is closed.

        Call it when nothing listens any more.
        """
        self._ended = Deferred()
        for channel in tuple(self.channels):
            channel.end()
        self._look()
        return self._ended

    def forget(self, channel: Channel) -> None:
        """*channel* is closed."""
        self.channels.discard(channel)
        self._crowd.left(len(self.channels))
        self._look()

    def _look(self) -> None:
        if self._ended is not None and not self.channels and not self._ended.called:
            self._ended.callback(None)
