"""Requests of our own to others: one connection each, counted, and cut off where it says too much.

twisted.web bounds the length of a header's line, but not how many lines there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.client import URI
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

#: An answer is handed on in pieces of at most so many bytes. If they are compressed, each is a few megabytes at most
#: when it is looked at whether that is too much.
PIECE: Final = 4_096


class Line:
    """What is known of the one connection of a request, beside the answer, and how to end it."""

    def __init__(self) -> None:
        self.heard = False
        self.too_much = False
        self._connection: Counted | None = None

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


class Counted(ProtocolWrapper):
    """A connection that is cut off after *most* bytes; *line* knows of it."""

    def __init__(self, factory: Any, wrapped: IProtocol, most: int, line: Line) -> None:
        super().__init__(factory, wrapped)
        self._line = line
        self._left = most
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
class Wrapping:
    """Connects over *way*, with ``wrapper(factory, wrapped)`` between the caller's protocol and the transport."""

    def __init__(self, way: IStreamClientEndpoint, wrapper: Callable[[Any, IProtocol], ProtocolWrapper]) -> None:
        self._way = way
        self._wrapper = wrapper

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803 - Twisted's name
        """Connect; the caller gets its own protocol and knows nothing of the wrapper."""
        factory = WrappingFactory(protocolFactory)
        inner: Any = protocolFactory
        factory.noisy = inner.noisy = False  # or each request would be four lines of the log
        factory.protocol = self._wrapper
        connecting: Deferred[Any] = self._way.connect(factory)
        return connecting.addCallback(lambda wrapping: wrapping.wrappedProtocol)


def counted(way: IStreamClientEndpoint, most: int, line: Line) -> IStreamClientEndpoint:
    """*way*, cut off after *most* bytes; *line* knows of the connection."""
    return Wrapping(way, lambda factory, wrapped: Counted(factory, wrapped, most, line))


@implementer(IAgentEndpointFactory)
class Endpoints:
    """Gives an agent the endpoint that *endpoint* makes of an URI."""

    def __init__(self, endpoint: Callable[[URI], IStreamClientEndpoint]) -> None:
        self.endpointForURI = endpoint
