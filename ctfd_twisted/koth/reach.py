"""The way to agents and targets: one connection for each request, counted and cut off where it says too much."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Protocol

from OpenSSL import SSL
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.client import URI, Agent
from twisted.web.iweb import IAgent, IAgentEndpointFactory
from zope.interface import implementer

from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.tls import Expecting, tls_context
from ctfd_twisted.koth.trouble import Unusable

#: More bytes of one answer, its headers and the wrapping of its chunks among them, are not taken from the network.
MOST_RAW: Final = 1_000_000
#: An answer is handed on in pieces of at most so many bytes. If they are compressed, each is a few megabytes at most
#: when it is looked at whether that is too much.
PIECE: Final = 4_096
#: So many TLS contexts are kept; making one reads all the system's authorities.
CONTEXTS: Final = 1_000


class Line:
    """What is known of the one connection of a request, beside the answer: whose certificate, and how to end it."""

    def __init__(self) -> None:
        self.fingerprint: str | None = None
        self.heard = False
        self.too_much = False
        self._connection: Counted | None = None

    def saw(self, fingerprint: str) -> None:
        """Note the certificate that the other side has shown."""
        self.fingerprint = fingerprint

    @property
    def connected(self) -> bool:
        """Whether somebody took the call."""
        return self._connection is not None

    def opened(self, connection: Counted) -> None:
        """Note the connection."""
        self._connection = connection

    def cut(self) -> None:
        """End the connection at once, without waiting for the other side's consent."""
        if self._connection is not None:
            self._connection.cut()


class Reach(Protocol):
    """How requests get out; tests have one in memory."""

    def agent(self, settings: HillSettings, line: Line, *, pinned: bool) -> IAgent:
        """An agent for one request over *line*; *pinned*: to the hill's agent, with the hill's certificates."""


class Network:
    """The real network, over a reactor."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._context = lru_cache(CONTEXTS)(tls_context)

    def agent(self, settings: HillSettings, line: Line, *, pinned: bool) -> IAgent:
        """An agent over sockets. A request with certificates that can't be used fails with ``Unusable``."""
        trust = (settings.tls_certificate, settings.client_certificate, settings.client_key) if pinned else (None,) * 3

        def endpoint(uri: URI) -> IStreamClientEndpoint:
            host = uri.host.decode("ascii")
            way = _way(self._reactor, host, uri.port, settings.seconds)
            if uri.scheme == b"https":
                try:
                    context = self._context(*trust)
                except (ValueError, SSL.Error) as error:
                    raise Unusable(f"the hill's certificates or key can't be used: {error}") from error
                way = wrapClientTLS(Expecting(context, host, line.saw), way)
            return _CountedEndpoint(way, line)

        # Without a pool the agent closes each connection after its answer: between two ticks there is nothing to keep.
        agent: IAgent = Agent.usingEndpointFactory(self._reactor, _Endpoints(endpoint))
        return agent


def _way(reactor: Any, host: str, port: int, seconds: float) -> IStreamClientEndpoint:
    """The way to *host*; to an address without a resolver, whose thread would be most of the work."""
    way: IStreamClientEndpoint
    if isIPAddress(host):
        way = TCP4ClientEndpoint(reactor, host, port, timeout=seconds)
    elif isIPv6Address(host):
        way = TCP6ClientEndpoint(reactor, host, port, timeout=seconds)
    else:
        way = HostnameEndpoint(reactor, host, port, timeout=seconds)
    return way


@implementer(IAgentEndpointFactory)
class _Endpoints:
    def __init__(self, endpoint: Any) -> None:
        self.endpointForURI = endpoint


class Counted(ProtocolWrapper):
    """A connection that is cut off after :data:`MOST_RAW` bytes.

    twisted.web bounds the length of a header's line, but not how many lines there are.
    """

    def __init__(self, factory: Any, wrapped: IProtocol, line: Line) -> None:
        super().__init__(factory, wrapped)
        self._line = line
        self._left = MOST_RAW
        line.opened(self)

    def dataReceived(self, data: bytes) -> None:
        """Hand *data* on while it is not too much."""
        self._line.heard = True
        for start in range(0, len(data), PIECE):
            if self.disconnecting:
                return  # nobody wants more
            piece = data[start : start + PIECE]
            self._left -= len(piece)
            if self._left < 0:
                self._line.too_much = True
                self.cut()
            else:
                super().dataReceived(piece)

    def cut(self) -> None:
        """End the connection at once."""
        self.disconnecting = True
        connection: Any = self.transport
        if connection is not None:
            connection.abortConnection()


@implementer(IStreamClientEndpoint)
class _CountedEndpoint:
    """Connects, and counts what comes in."""

    def __init__(self, way: IStreamClientEndpoint, line: Line) -> None:
        self._way = way
        self._line = line

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803 - Twisted's name
        """Connect; the caller gets its own protocol and knows nothing of the counting."""
        factory = WrappingFactory(protocolFactory)
        inner: Any = protocolFactory
        factory.noisy = inner.noisy = False  # or each tick would be four lines of the log
        factory.protocol = lambda wrapping, wrapped: Counted(wrapping, wrapped, self._line)
        connecting: Deferred[Any] = self._way.connect(factory)
        return connecting.addCallback(lambda counted: counted.wrappedProtocol)
