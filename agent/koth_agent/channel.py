"""The bounds of the HTTP server: how many connections, how long a request may take to arrive, how large it may be.

An agent stands on a host that hostile people reach. Nothing they send is kept, and nobody but the whole crowd
together can keep the platform's poll from being answered.
"""

from collections import Counter
from io import BytesIO
from ipaddress import ip_address
from typing import Any, cast

from twisted.internet.interfaces import IReactorTime, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource
from twisted.web.server import Request, Site

MOST_CONNECTIONS = 512
MOST_CONNECTIONS_OF_ONE = 64  # from one address
REQUEST_SECONDS = 15  # from the connection, or the answer before, to the last byte of a request
MOST_HEADERS = 100  # and 16 KiB of them altogether: HTTPChannel.totalHeadersSize
BODY_BYTES = 64 * 1024  # no request needs a body at all
LOGGED_CHARACTERS = 100

TOO_LARGE = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class AgentRequest(Request):
    """A request whose body is thrown away as it arrives, and refused if it is large."""

    _body_bytes = 0
    _refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        """Twisted's would open a temporary file of any size."""
        self.content = BytesIO()
        self._count(length or 0)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        """Only chunked bodies still have something to count; a Content-Length has been counted before."""
        if self.requestHeaders.hasHeader(b"Transfer-Encoding"):
            self._count(len(data))

    def process(self) -> None:
        """Answer, unless that has been done."""
        if self.path == b"*":
            self.path = b"/*"  # or else Twisted answers `OPTIONS *` itself, and asks for no key
        if not self._refused:
            super().process()

    def _count(self, length: int) -> None:
        self._body_bytes += length
        if self._body_bytes > BODY_BYTES and not self._refused:
            self._refused = True
            self.channel.write(TOO_LARGE)
            self.channel.loseConnection()


class AgentChannel(HTTPChannel):
    """HTTP/1.1 on one connection, counted, and with a deadline for every request."""

    maxHeaders = MOST_HEADERS  # noqa: N815 - Twisted's name
    site: "AgentSite"
    _admitted = False

    def connectionMade(self) -> None:  # noqa: D102
        super().connectionMade()
        self._admitted = self.site.admit(self._host)
        if not self._admitted:
            self._connection.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: D102
        super().connectionLost(reason)
        if self._admitted:
            self._admitted = False
            self.site.release(self._host)

    def resetTimeout(self) -> None:  # noqa: N802
        """Nothing. Twisted's would grant the whole time again for every byte, which a slow sender lives on."""

    @property
    def _connection(self) -> ITCPTransport:
        """The transport, as what it is as long as this object is asked anything; a UNIX socket's is alike."""
        return cast("ITCPTransport", self.transport)

    @property
    def _host(self) -> str:
        """The address of the other side, for the count; empty if it says nothing about who is there.

        That is so for UNIX sockets, and for the host itself: many may come through a proxy or an onion service, and
        a local program has all of 127.0.0.0/8 to come from.
        """
        host = getattr(self._connection.getPeer(), "host", "")
        return "" if host == "" or ip_address(host).is_loopback else host


class AgentSite(Site):
    """The server: a site that counts its connections."""

    protocol = AgentChannel  # type: ignore[assignment] # Site's own can also switch to HTTP/2

    def __init__(self, resource: IResource, reactor: IReactorTime) -> None:
        super().__init__(
            resource,
            requestFactory=AgentRequest,
            timeout=REQUEST_SECONDS,
            logFormatter=log_line,
            reactor=reactor,
            parsePOSTFormSubmission=False,
        )
        self._connections: Counter[str] = Counter()

    def admit(self, host: str) -> bool:
        """Count one more connection from *host* (empty: from anybody), if there is room for it."""
        if self._connections.total() >= MOST_CONNECTIONS:
            return False
        if host and self._connections[host] >= MOST_CONNECTIONS_OF_ONE:
            return False
        self._connections[host] += 1
        return True

    def release(self, host: str) -> None:
        """Forget one connection from *host*."""
        self._connections[host] -= 1
        if not self._connections[host]:
            del self._connections[host]

    def acceptableProtocols(self) -> list[bytes]:  # noqa: N802
        """What TLS may agree on. The bounds above are those of HTTP/1.1, so h2 is not offered where it is there."""
        return [b"http/1.1"]


def log_line(timestamp: str, request: IRequest) -> str:  # noqa: ARG001 - the log has its own
    """One line of the access log: who, what, status. Short, and without the query, where a key may have been put."""
    agent_request: Any = request  # clientproto, code and uri are not part of IRequest
    path = agent_request.uri.partition(b"?")[0].decode("ascii", "backslashreplace")[:LOGGED_CHARACTERS]
    method = agent_request.method.decode("ascii", "backslashreplace")[:LOGGED_CHARACTERS]
    host = getattr(request.getClientAddress(), "host", "-")
    return f'{host} "{method} {path}" {agent_request.code}'
