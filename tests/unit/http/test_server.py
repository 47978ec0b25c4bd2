"""The HTTP server's bounds and its end, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from ctfd_twisted.http.server import AGREE, BODY_LIMIT, COMPLETE, IDLE, LEAST, QuietSite


class Waits(Resource):
    """Answers when the test says so."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def render(self, request: Any) -> int:
        self.requests.append(request)
        return NOT_DONE_YET

    def answer(self) -> None:
        request = self.requests.pop(0)
        request.write(b"done")
        request.finish()


class Connection:
    """A client's end."""

    def __init__(self, site: QuietSite, *, deaf: bool = False) -> None:
        self._channel: Any = site.buildProtocol(None)
        transport: Any = StringTransportWithDisconnection()
        self.transport = transport
        self.transport.protocol = self._channel
        self._channel.makeConnection(self.transport)
        if deaf:  # it speaks TLS, and does not listen to being asked whether it agrees to an end
            self._channel.isSecure = lambda: True
            self.transport.abortConnection = self.transport.loseConnection
            self.transport.loseConnection = lambda: None

    def send(self, text: str) -> None:
        self._channel.dataReceived(text.replace("\n", "\r\n").encode())

    @property
    def got(self) -> bytes:
        return bytes(self.transport.value())

    @property
    def open(self) -> bool:
        return bool(self.transport.connected)


@pytest.fixture
def resource() -> Waits:
    return Waits()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(resource: Waits, clock: Clock) -> Iterator[QuietSite]:
    site = QuietSite(resource, clock)
    site.doStart()
    yield site
    site.doStop()


GET = "GET / HTTP/1.1\nHost: x\n\n"


def test_a_request_that_comes_a_line_at_a_time_has_a_minute(site: QuietSite, clock: Clock) -> None:
    slow, silent = Connection(site), Connection(site)
    clock.advance(IDLE - 1)
    slow.send("GET / HTTP/1.1\n")
    clock.advance(2)
    assert (slow.open, silent.open) == (True, False), "a request that has begun has time of its own"
    for number in range(5):
        slow.send(f"X-Header-{number}: x\n")
        clock.advance(COMPLETE / 5 - 1)
    assert slow.open
    slow.send("X")
    clock.advance(5)
    assert not slow.open


def test_a_body_may_take_its_time_while_it_grows(site: QuietSite, resource: Waits, clock: Clock) -> None:
    growing, dripping = Connection(site), Connection(site)
    for connection in (growing, dripping):
        connection.send(f"POST / HTTP/1.1\nHost: x\nContent-Length: {4 * LEAST}\n\n")
    for _ in range(4):
        clock.advance(COMPLETE - 1)
        growing.send("x" * LEAST)
        if dripping.open:
            dripping.send("x")
    assert (growing.open, dripping.open) == (True, False)
    assert len(resource.requests) == 1
    clock.advance(COMPLETE * 10)
    assert growing.open, "who waits for an answer waits for us"
    resource.answer()
    growing.send(GET)
    resource.answer()
    assert growing.got.count(b"HTTP/1.1 200") == 2


def test_requests_that_came_together_are_answered_in_turn(site: QuietSite, resource: Waits, clock: Clock) -> None:
    connection = Connection(site)
    connection.send(GET * 3 + "GET / HTTP/1.1\n")
    for _ in range(3):
        clock.advance(COMPLETE + 1)
        assert len(resource.requests) == 1
        resource.answer()
    assert connection.got.count(b"HTTP/1.1 200") == 3
    clock.advance(COMPLETE - 1)
    assert connection.open
    clock.advance(2)
    assert not connection.open


@pytest.mark.parametrize("expect", ["", "Expect: 100-continue\n"])
def test_a_body_that_is_announced_as_too_large_is_refused_once(site: QuietSite, resource: Waits, expect: str) -> None:
    connection = Connection(site)
    connection.send(f"POST / HTTP/1.1\nHost: x\n{expect}Content-Length: {BODY_LIMIT + 1}\n\n")
    assert connection.got.startswith(b"HTTP/1.1 413 ")
    assert connection.got.count(b"HTTP/1.1") == 1
    assert not connection.open
    assert resource.requests == []


def test_a_body_in_chunks_is_refused_when_it_has_become_too_large(site: QuietSite, resource: Waits) -> None:
    connection = Connection(site)
    connection.send("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n")
    chunk = "x" * (BODY_LIMIT // 2)
    for _ in range(3):
        if connection.open:
            connection.send(f"{len(chunk):x}\n{chunk}\n")
    assert connection.got.startswith(b"HTTP/1.1 413 ")
    assert not connection.open
    assert resource.requests == []


def test_a_form_is_left_to_whoever_asks_for_it(site: QuietSite, resource: Waits) -> None:
    connection = Connection(site)
    connection.send("POST / HTTP/1.1\nHost: x\nContent-Type: multipart/form-data\nContent-Length: 4\n\njunk")
    (request,) = resource.requests
    assert (request.args, request.content.read()) == ({}, b"junk")  # type: ignore[union-attr]


def test_at_the_end_who_asks_nothing_is_hung_up_on_and_who_asked_is_answered_first(
    site: QuietSite, resource: Waits, clock: Clock
) -> None:
    idle, asking, sending = Connection(site), Connection(site), Connection(site)
    clock.advance(AGREE)
    asking.send(GET)
    sending.send("POST / HTTP/1.1\nHost: x\nContent-Length: 4\n")
    ended = site.end()
    assert (idle.open, asking.open, sending.open, ended.called) == (False, True, True, False)
    resource.answer()
    sending.send("\nbody")
    assert (asking.open, sending.open, ended.called) == (False, True, False)
    resource.answer()
    assert not sending.open
    for connection in (asking, sending):
        assert b"\r\nConnection: close\r\n" in connection.got
        assert b"done" in connection.got
    assert ended.called


def test_without_connections_the_end_is_at_once(site: QuietSite, resource: Waits) -> None:
    connection = Connection(site)
    connection.send(GET)
    resource.answer()
    connection.transport.loseConnection()
    assert site.end().called


def test_who_does_not_agree_to_the_end_is_not_waited_for(site: QuietSite, resource: Waits, clock: Clock) -> None:
    idle, asking = Connection(site, deaf=True), Connection(site, deaf=True)
    clock.advance(AGREE)
    asking.send(GET)
    ended = site.end()
    clock.advance(AGREE)
    assert (idle.open, asking.open) == (False, True)
    resource.answer()
    clock.advance(AGREE / 2)
    assert (asking.open, ended.called) == (True, False)
    clock.advance(AGREE / 2)
    assert (asking.open, ended.called) == (False, True)


def test_who_has_just_connected_is_answered_what_is_on_its_way(site: QuietSite, resource: Waits, clock: Clock) -> None:
    asking, silent = Connection(site), Connection(site)
    ended = site.end()
    assert (asking.open, silent.open) == (True, True)
    asking.send(GET)
    clock.advance(AGREE)
    assert (asking.open, silent.open, ended.called) == (True, False, False)
    resource.answer()
    assert b"\r\nConnection: close\r\n" in asking.got
    assert (asking.open, ended.called) == (False, True)
