"""Servers of tests: twisted.web's, and one that says byte for byte what it is told to say."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.protocol import Factory, Protocol
from twisted.web.resource import Resource
from twisted.web.server import Site

Spin = Callable[[Coroutine[Any, Any, Any]], Any]

reactor: Any = installed


def site(resource: Resource) -> Site:
    """*resource* as it is served, silently."""
    served = Site(resource, reactor=reactor)
    served.noisy = False
    served.log = lambda request: None  # type: ignore[method-assign] # noqa: ARG005 - the name is twisted.web's
    return served


class Last(bytes):
    """An answer after which the connection is closed."""

    __slots__ = ()


class Scripted(Protocol):
    """Answers each request on a connection with the next bytes of its script, and keeps what it was sent."""

    def connectionMade(self) -> None:
        factory: Any = self.factory
        self.answers: Iterator[bytes | None] = factory.script()
        self.said = b""
        factory.connections.append(self)
        if factory.greets:
            self.answer()

    def dataReceived(self, data: bytes) -> None:
        self.said += data
        factory: Any = self.factory
        while True:
            head, end, rest = self.said.partition(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            if not end or len(rest) < length:
                return
            factory.requests.append(head + end + rest[:length])
            self.said = rest[length:]
            self.answer()

    def answer(self) -> None:
        answer = next(self.answers)
        transport: Any = self.transport
        if answer is not None:
            transport.write(answer)
        if answer is None or isinstance(answer, Last):
            transport.loseConnection()


class Script(Factory):
    """A server of :class:`Scripted` connections; each begins *script* anew, and None in it hangs up.

    One that *greets* says the first thing without being asked.
    """

    protocol = Scripted
    noisy = False

    def __init__(self, script: Callable[[], Iterator[bytes | None]], *, greets: bool = False) -> None:
        self.script = script
        self.greets = greets
        self.requests: list[bytes] = []
        self.connections: list[Scripted] = []
