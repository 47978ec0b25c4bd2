"""Listeners to events, without a socket."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.platform import Client

PING = "event:ping\ndata:ping\n\n"


class Ear:
    """Somebody who asks for a path over a connection in memory, and all that they were sent."""

    def __init__(
        self,
        platform: MemoryPlatform,
        client: Client | None = None,
        *,
        method: str = "GET",
        address: str = "192.0.2.1",
        headers: Mapping[str, str] = {},
    ) -> None:
        site = QuietSite(platform.platform.resource, platform.clock)
        self.transport = StringTransport(peerAddress=IPv4Address("TCP", address, 4711))
        self.channel = site.buildProtocol(self.transport.getPeer())
        self.channel.makeConnection(self.transport)
        self._read = 0
        sent = {"Host": "ctf.example", **headers}
        if client is not None:
            sent |= {"Authorization": f"Token {client.token}", "Content-Type": "application/json"}
        lines = [f"{method} /events HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        self.channel.dataReceived("\r\n".join([*lines, "", ""]).encode())

    @property
    def _parts(self) -> tuple[str, str]:
        head, _, body = self.transport.value().decode("latin-1").partition("\r\n\r\n")
        return head, body

    @property
    def status(self) -> int:
        """The answer's status."""
        return int(self._parts[0].split(" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers by their names in lower case."""
        lines = (line.partition(": ") for line in self._parts[0].split("\r\n")[1:])
        return {name.lower(): value for name, _, value in lines}

    @property
    def body(self) -> str:
        """The body without the sizes of its chunks."""
        rest, text = self._parts[1], ""
        while rest:
            size, _, rest = rest.partition("\r\n")
            length = int(size, 16)
            text, rest = text + rest[:length], rest[length + 2 :]
        return text

    @property
    def complete(self) -> bool:
        """Whether the answer has come to its end."""
        return self._parts[1].endswith("0\r\n\r\n")

    def news(self) -> str:
        """What was sent since the last time this was asked."""
        body = self.body
        news, self._read = body[self._read :], len(body)
        return news

    def leave(self) -> None:
        """Hang up."""
        self.channel.connectionLost(Failure(ConnectionDone()))
