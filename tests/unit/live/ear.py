"""Listeners to events, without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.platform import Client

PING = "event:ping\ndata:ping\n\n"


class Heard(NamedTuple):
    """One event."""

    name: str
    id: str
    data: Any


def events_in(text: str) -> list[Heard]:
    """The events in *text*; comments and what only sets an id are none."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(":", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "event" in fields:
            found.append(Heard(fields["event"], fields.get("id", ""), json.loads(fields["data"])))
    return found


def last_id_in(text: str) -> str:
    """The id that a browser would come back with."""
    return [line.removeprefix("id:") for line in text.split("\n") if line.startswith("id:")][-1]


class Ear:
    """Somebody who asks for a path over a connection in memory, and all that they were sent."""

    def __init__(
        self,
        platform: MemoryPlatform,
        client: Client | None = None,
        *,
        method: str = "GET",
        path: str = "/events",
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
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        self.channel.dataReceived("\r\n".join([*lines, "", ""]).encode())
        platform.clock.advance(0)

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

    def heard(self) -> list[Heard]:
        """The events among that."""
        return events_in(self.news())

    @property
    def last_id(self) -> str:
        """The id that this listener would come back with."""
        return last_id_in(self.body)

    @property
    def _producer(self) -> Any:
        return self.transport.producer

    def stop_reading(self) -> None:
        """Read nothing from now on, until so much waits that the transport says so."""
        self._producer.pauseProducing()

    def read_on(self) -> None:
        """Read all that waits."""
        self._producer.resumeProducing()

    def leave(self) -> None:
        """Hang up."""
        getattr(self.transport, "protocol", self.channel).connectionLost(Failure(ConnectionDone()))
