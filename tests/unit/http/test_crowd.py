"""What connections may take: room for answers that nobody reads, headers, and connections themselves."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection
from twisted.logger import capturedLogs
from twisted.web.resource import Resource
from twisted.web.server import Request

from ctfd_twisted.http.crowd import MOST, OWN, PATIENCE, TOLD, room
from ctfd_twisted.http.server import HEADERS, IDLE, QuietSite

SIZE = 100_000
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Large(Resource):
    """Answers each request with 100 kB, and counts them."""

    isLeaf = True
    asked = 0

    def render(self, request: Request) -> bytes:  # noqa: ARG002 - twisted.web's signature
        self.asked += 1
        return b"x" * SIZE


class Unread(StringTransportWithDisconnection):
    """A connection whose client reads when the test says so: until then what is written stays here."""

    buffered = 0

    def write(self, data: bytes) -> None:
        super().write(data)
        self.buffered += len(data)
        if self.buffered > 65536 and self.producer is not None and self.producerState == "producing":
            self.producer.pauseProducing()

    def writeSequence(self, data: Any) -> None:
        self.write(b"".join(data))

    def read(self) -> None:
        self.buffered = 0
        producer: Any = self.producer
        producer.resumeProducing()

    def unregisterProducer(self) -> None:  # noqa: N802 - Twisted's name
        self.producer = None

    def abortConnection(self) -> None:  # noqa: N802 - Twisted's name
        self.loseConnection()


class World:
    """A site for three connections."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.resource = Large()
        self.site = QuietSite(self.resource, self.clock, most=3)
        self.site.doStart()

    def connect(self) -> tuple[Any, Unread]:
        channel, transport = self.site.buildProtocol(None), Unread()
        if channel is not None:
            transport.protocol = channel
            channel.makeConnection(transport)
        return channel, transport


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.site.doStop()


def test_who_does_not_read_is_answered_no_more_until_they_do(world: World) -> None:
    channel, transport = world.connect()
    channel.dataReceived(GET * 300)
    assert world.resource.asked == 1
    for answered in range(2, 6):
        transport.read()
        assert world.resource.asked == answered
    assert transport.buffered < 2 * SIZE


def test_all_that_came_together_is_answered_in_the_end(world: World) -> None:
    channel, transport = world.connect()
    channel.dataReceived(GET * 5)
    channel.dataReceived(GET[:10])
    while transport.buffered > SIZE:
        transport.read()
    channel.dataReceived(GET[10:])
    assert world.resource.asked == 6
    assert transport.value().count(b"200 OK") == 6


def test_who_never_reads_is_hung_up_on(world: World) -> None:
    channel, transport = world.connect()
    transport.loseConnection = lambda: None  # type: ignore[method-assign] # it waits for what is still to be written
    transport.abortConnection = transport.connectionLost = lambda *_: gone.append(1)  # type: ignore[method-assign,attr-defined]
    gone: list[int] = []
    channel.dataReceived(GET * 3)
    world.clock.advance(IDLE)
    assert gone == []
    world.clock.advance(channel.abortTimeout)
    assert gone == [1]
    assert world.resource.asked == 1


def test_a_reader_who_leaves_takes_what_was_not_read_along(world: World) -> None:
    before = len(world.clock.getDelayedCalls())
    channel, transport = world.connect()
    channel.dataReceived(GET * 3)
    transport.loseConnection()
    assert world.site.channels == set()
    assert len(world.clock.getDelayedCalls()) == before


def test_at_the_end_who_does_not_read_is_not_answered_more(world: World) -> None:
    channel, transport = world.connect()
    channel.dataReceived(GET * 3)
    ended: list[None] = []
    world.site.end().addCallback(ended.append)
    transport.read()
    assert (world.resource.asked, ended) == (1, [None])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"a: b\r\n" * (HEADERS - 1), b"200"),
        (b"a: b\r\n" * HEADERS, b"400"),
        (b"a: " + b"b" * 16_000 + b"\r\n", b"200"),
        (b"a: " + b"b" * 9_000 + b"\r\nc: " + b"d" * 9_000 + b"\r\n", b"400"),
    ],
)
def test_headers_are_bounded_in_number_and_length(world: World, headers: bytes, status: bytes) -> None:
    channel, transport = world.connect()
    channel.dataReceived(b"GET / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n")
    assert transport.value().split(b" ")[1] == status


def test_beyond_the_bound_a_connection_is_told_to_come_back_and_the_log_says_why_once(world: World) -> None:
    with capturedLogs() as logs:
        taken = [world.connect() for _ in range(3)]
        for _ in range(2):
            turned, transport = world.connect()
            assert transport.value() == b""
            turned.dataReceived(GET)
            turned.dataReceived(GET)
            assert transport.value().startswith(b"HTTP/1.1 503 ")
            assert transport.value().count(b"Retry-After: ") == 1
            assert not transport.connected
        taken[0][1].loseConnection()
        taken[1][1].loseConnection()
        channel, transport = world.connect()
        channel.dataReceived(GET)
        assert transport.value().startswith(b"HTTP/1.1 200 ")
    told = [event["log_format"] for event in logs if "connections are" in event["log_format"]]
    assert len(told) == 2
    assert "ulimit" in told[0]
    assert "again" in told[1]


def test_who_is_turned_away_and_asks_nothing_is_cut_off_and_few_are_told_at_a_time(world: World) -> None:
    taken = [world.connect() for _ in range(3)]
    turned = [world.connect() for _ in range(TOLD)]
    assert world.connect()[0] is None
    world.clock.advance(PATIENCE)
    assert not any(transport.connected for _, transport in turned)
    assert all(transport.connected for _, transport in taken)
    assert world.connect()[0] is not None


@pytest.mark.parametrize(
    ("allowed", "connections"),
    [(1024, 1024 - OWN - TOLD), (65_536, MOST), (resource.RLIM_INFINITY, MOST), (256, 128)],
)
def test_the_bound_leaves_the_process_open_files(
    monkeypatch: pytest.MonkeyPatch, allowed: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed, allowed))
    assert room() == connections
