"""The way to the provider of sign-ins: a connection for each request, that is cut when the answer is read."""

from __future__ import annotations

from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.client import URI, Agent, BrowserLikePolicyForHTTPS, HostnameCachingHTTPSPolicy
from twisted.web.iweb import IAgent, IAgentEndpointFactory
from zope.interface import implementer

#: More bytes of one answer, its headers among them, are not taken from the network.
MOST_RAW: Final = 256 * 1024


class Line:
    """The one connection of a request, to be cut whatever the other side thinks of that."""

    def __init__(self) -> None:
        self._connection: _Counted | None = None

    def opened(self, connection: _Counted) -> None:
        """Note the connection."""
        self._connection = connection

    def cut(self) -> None:
        """End the connection at once."""
        if self._connection is not None:
            self._connection.cut()


class Reach(Protocol):
    """How requests get out; tests have one in memory."""

    def agent(self, line: Line, seconds: float) -> IAgent:
        """An agent for one request over *line*, to which a connection is made within so many *seconds*."""


class Network:
    """The real network, over a reactor; certificates are verified against the system's authorities and the name."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        # To read the system's authorities takes a hundred times as long as a handshake, so contexts are kept per host.
        self._tls = HostnameCachingHTTPSPolicy(BrowserLikePolicyForHTTPS())

    def agent(self, line: Line, seconds: float) -> IAgent:
        """An agent over sockets; without a pool, so that nothing stays open between two people."""

        def endpoint(uri: URI) -> IStreamClientEndpoint:
            host = uri.host.decode("ascii").strip("[]")
            way: IStreamClientEndpoint = HostnameEndpoint(self._reactor, host, uri.port, timeout=seconds)
            if uri.scheme == b"https":
                way = wrapClientTLS(self._tls.creatorForNetloc(host.encode(), uri.port), way)
            return _CountedEndpoint(way, line)

        agent: IAgent = Agent.usingEndpointFactory(self._reactor, _Endpoints(endpoint))
        return agent


@implementer(IAgentEndpointFactory)
class _Endpoints:
    def __init__(self, endpoint: Any) -> None:
        self.endpointForURI = endpoint


class _Counted(ProtocolWrapper):
    """A connection that is cut after :data:`MOST_RAW` bytes: twisted.web does not count the lines of a header."""

    def __init__(self, factory: Any, wrapped: IProtocol, line: Line) -> None:
        super().__init__(factory, wrapped)
        self._left = MOST_RAW
        line.opened(self)

    def dataReceived(self, data: bytes) -> None:
        """Hand *data* on while it is not too much."""
        self._left -= len(data)
        if self._left < 0:
            self.cut()
        elif not self.disconnecting:
            super().dataReceived(data)

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
        factory.noisy = inner.noisy = False
        factory.protocol = lambda wrapping, wrapped: _Counted(wrapping, wrapped, self._line)
        connecting: Deferred[Any] = self._way.connect(factory)
        return connecting.addCallback(lambda counted: counted.wrappedProtocol)
