"""Connections of our own to others: counted, and cut off where they say too much."""

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import StringTransport
from zope.interface import implementer

from ctfd_twisted.http.outgoing import PIECE, Line, counted

MOST = 3 * PIECE


@implementer(IStreamClientEndpoint)
class Direct:
    """An endpoint to nobody: keeps the protocol and its transport."""

    def __init__(self) -> None:
        self.transport = StringTransport()
        self.protocol: Any = None

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803 - Twisted's name
        connected: Deferred[IProtocol] = Deferred()
        self.protocol = protocolFactory.buildProtocol(IPv4Address("TCP", "192.0.2.1", 80))
        self.protocol.makeConnection(self.transport)
        connected.callback(self.protocol)
        return connected


class Listener(Protocol):
    """Keeps each piece that comes."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def dataReceived(self, data: bytes) -> None:
        self.pieces.append(data)


def connect(line: Line) -> tuple[Direct, Listener]:
    way = Direct()
    listener = Listener()
    factory: Any = Factory()
    factory.buildProtocol = lambda _: listener
    got: list[object] = []
    counted(way, MOST, line).connect(factory).addCallback(got.append)
    assert got == [listener]
    return way, listener


def test_what_comes_is_handed_on_in_pieces_up_to_the_bound() -> None:
    line = Line()
    way, listener = connect(line)
    assert (line.connected, line.heard) == (True, False)
    way.protocol.dataReceived(b"x" * MOST)
    assert [len(piece) for piece in listener.pieces] == [PIECE] * 3
    assert (line.heard, line.too_much) == (True, False)
    assert not way.transport.disconnected


def test_one_byte_more_ends_the_connection_and_nothing_more_is_heard() -> None:
    line = Line()
    way, listener = connect(line)
    way.protocol.dataReceived(b"x" * MOST + b"y")
    assert line.too_much
    assert way.transport.disconnected
    way.protocol.dataReceived(b"z")
    assert b"".join(listener.pieces) == b"x" * MOST


def test_who_has_heard_enough_cuts_the_line() -> None:
    line = Line()
    line.cut()  # before anybody took the call there is nothing to end
    assert not line.connected
    way, listener = connect(line)
    line.cut()
    assert way.transport.disconnected
    way.protocol.dataReceived(b"late")
    assert listener.pieces == []
