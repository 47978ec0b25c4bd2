"""Agents over real sockets: what hangs, lies, floods or redirects costs one tick and little memory."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import capturedLogs
from twisted.protocols.policies import WrappingFactory
from twisted.web.resource import EncodingResourceWrapper
from twisted.web.server import GzipEncoderFactory
from zope.interface import implementer

from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.reach import MOST_RAW, Network
from ctfd_twisted.testing.fake_agent import FakeAgent
from ctfd_twisted.testing.hills import hill_settings
from tests.integration.webhooks.network import Spin, reactor, site

Listen = Callable[..., int]
Poll = Callable[..., Evidence]

OK = b'{"success":true,"data":{"identifier":"ada"}}'


@implementer(IPushProducer)
class Flood(Protocol):
    """Says its beginning, and then the same piece for as long as somebody listens; counts what it could say."""

    factory: Any
    transport: Any

    def connectionMade(self) -> None:
        self._more = True
        self.transport.write(self.factory.begins)
        self.transport.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        self._more = True
        reactor.callLater(0, self._say)

    def _say(self) -> None:
        if self._more and self.factory.open:
            self.transport.write(self.factory.piece)
            self.factory.said += len(self.factory.piece)
            reactor.callLater(0, self._say)

    def pauseProducing(self) -> None:
        self._more = False

    stopProducing = pauseProducing

    def connectionLost(self, _reason: Any = None) -> None:
        self._more = False
        self.factory.open = False


class Says(Protocol):
    """Says its words to whoever connects, and hangs up if it is told to."""

    factory: Any
    transport: Any

    def connectionMade(self) -> None:
        self.transport.write(self.factory.words)
        if self.factory.hangs_up:
            self.transport.loseConnection()


class Drips(Protocol):
    """A valid answer, one byte at a time."""

    factory: Any
    transport: Any

    def connectionMade(self) -> None:
        self.words = iter(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + OK + b" " * 9999)
        self.loop = LoopingCall(lambda: self.transport.write(bytes([next(self.words)])))
        self.loop.start(0.02)

    def connectionLost(self, _reason: Any = None) -> None:
        self.loop.stop()


def factory(protocol: type[Protocol], **facts: Any) -> Factory:
    made: Any = Factory.forProtocol(protocol)
    made.noisy = False
    for name, value in {"open": True, "said": 0, **facts}.items():
        setattr(made, name, value)
    return made  # type: ignore[no-any-return]


@pytest.fixture
def poll(spin: Spin) -> Poll:
    def ask(port: int, host: str = "127.0.0.1", **settings: Any) -> Evidence:
        hill = hill_settings(**{"url": f"http://{host}:{port}/status", "timeout": 2, **settings})
        return spin(HillClient(reactor, Network(reactor)).poll(hill))  # type: ignore[no-any-return]

    return ask


def test_a_hill_is_asked_over_a_socket(poll: Poll, listening: Listen) -> None:
    agent = FakeAgent("ada", key="sesame")
    port = listening(site(agent))
    evidence = poll(port, api_key="sesame", health_gate=True, target_url=f"http://127.0.0.1:{port}/")
    assert (evidence.owners, evidence.signed, evidence.status, evidence.failure) == (("ada", "ada"), True, 200, None)
    assert agent.asked == ["/status", "/healthcheck", "/", "/status"]
    assert poll(port, api_key="wrong").failure == "unauthorized"


def test_a_poll_that_succeeds_writes_nothing_into_the_log(poll: Poll, listening: Listen) -> None:
    port = listening(site(FakeAgent("ada")))
    with capturedLogs() as seen:
        assert poll(port).owners == poll(port, host="localhost").owners == ("ada",)
    # The reactor itself tells when these tests end it.
    assert [event for event in seen if event["log_namespace"] != "twisted.internet.base"] == []


def test_an_agent_on_ipv6_is_asked(poll: Poll, listening: Listen) -> None:
    port = listening(site(FakeAgent("ada")), interface="::1")
    assert poll(port, host="[::1]").owners == ("ada",)


def test_nobody_at_the_port_is_unreachable(poll: Poll, listening: Listen) -> None:
    port = listening(factory(Says, words=b"", hangs_up=True))
    closed = poll(port)
    assert (closed.failure, closed.connected) == ("unreachable", True)
    assert "closed" in closed.detail
    refused = poll(1)
    assert (refused.failure, refused.connected) == ("unreachable", False)
    assert "refused" in refused.detail
    unknown = poll(port, host="no-such-host.invalid")
    assert (unknown.failure, unknown.connected) == ("unreachable", False)
    assert "resolved" in unknown.detail


@pytest.mark.parametrize(
    "served",
    [
        factory(Says, words=b"", hangs_up=False),
        factory(Says, words=b"HTTP/1.1 200 OK\r\nContent-Le", hangs_up=False),
        factory(Says, words=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + OK, hangs_up=False),
        factory(Drips),
    ],
    ids=["silence", "half a header", "half a body", "a byte at a time"],
)
def test_what_hangs_costs_the_timeout_and_no_more(poll: Poll, listening: Listen, served: Factory) -> None:
    evidence = poll(listening(served), timeout=0.5)
    assert (evidence.failure, evidence.detail) == ("unreachable", "no complete answer within 0.5 seconds")
    assert 450 <= evidence.latency_ms < 1500


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("begins", "piece"),
    [
        (HEAD + b"Content-Length: 10000000000\r\n\r\n", b" " * 65536),
        (HEAD + b"\r\n", b" " * 65536),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n"),
        (HEAD, b"X-Header: " + b"x" * 8000 + b"\r\n"),
        (HEAD + b"X-Header: ", b"x" * 65536),
        (b"", HEAD.replace(b"200", b"100") + b"\r\n"),
    ],
    ids=["10 GB", "no length", "chunks", "headers", "one header", "100 Continue"],
)
def test_a_flood_is_cut_off_at_once(poll: Poll, listening: Listen, begins: bytes, piece: bytes) -> None:
    served: Any = factory(Flood, begins=begins, piece=piece)
    evidence = poll(listening(served), timeout=20)
    assert evidence.failure == "malformed"
    assert evidence.latency_ms < 15_000, "not by the timeout"
    # What lies in the buffers of two sockets was said, too.
    assert served.said < MOST_RAW + 16_000_000


def packed(body: bytes, encoding: bytes = b"gzip") -> bytes:
    return HEAD + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (encoding, len(body)) + body


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        (HEAD + b"Content-Length: 500\r\n\r\n" + OK, "malformed"),
        (HEAD + b"Content-Length: 5\r\n\r\n" + OK, "malformed"),
        (HEAD + b"Content-Length: -5\r\n\r\n" + OK, "malformed"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + OK, "malformed"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", "malformed"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "malformed"),
        (b"\x00\xff\x00\xff\r\n\r\n", "malformed"),
        (HEAD + b"\r\n" + OK, None),
        (b"HTTP/1.0 200 OK\r\n\r\n" + OK, None),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "malformed"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "malformed"),
        (packed(gzip.compress(OK)), None),
        (packed(gzip.compress(OK)[:-12]), "malformed"),
        (packed(OK), "malformed"),
        (packed(gzip.compress(gzip.compress(OK)), b"gzip, gzip"), "malformed"),
        (packed(zlib.compress(OK), b"deflate"), "malformed"),
    ],
)
def test_a_body_of_another_length_and_what_is_no_answer_is_malformed(
    poll: Poll, listening: Listen, words: bytes, failure: str | None
) -> None:
    evidence = poll(listening(factory(Says, words=words, hangs_up=True)))
    assert (evidence.failure, evidence.connected) == (failure, True)
    if failure is None:
        assert evidence.owners == ("ada",)


def test_what_was_signed_may_be_compressed_on_its_way(poll: Poll, listening: Listen) -> None:
    agent = EncodingResourceWrapper(FakeAgent("ada", key="sesame"), [GzipEncoderFactory()])
    evidence = poll(listening(site(agent)), api_key="sesame", health_gate=True)
    assert (evidence.owners, evidence.signed, evidence.failure) == (("ada", "ada"), True, None)
    assert evidence.answers[0].body == OK.decode()


def test_ten_gigabytes_that_were_compressed_cost_a_tick_and_little_memory(poll: Poll, listening: Listen) -> None:
    # Each flush forgets what came before, so that the same piece can follow upon itself for ever.
    press, zeros = zlib.compressobj(9, wbits=31), bytes(1_000_000)
    first, again = (press.compress(zeros) + press.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    length = len(first) + 9_999 * len(again)
    begins = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % length + first
    # More than a socket's buffer at once: whoever took all that there is would have hundreds of megabytes.
    served: Any = factory(Flood, begins=begins, piece=again * 200)
    port = listening(served)
    tracemalloc.start()
    try:
        evidence = poll(port, timeout=20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (evidence.failure, evidence.detail) == ("malformed", "the answer is longer than 65536 bytes")
    assert evidence.latency_ms < 15_000, "not by the timeout"
    assert peak < 25_000_000


def test_no_connection_is_left_behind(poll: Poll, listening: Listen, spin: Spin) -> None:
    served: Any = WrappingFactory(site(FakeAgent("ada")))
    served.noisy = False
    assert poll(listening(served), health_gate=True).owners == ("ada", "ada")

    async def settled() -> int:
        await deferLater(reactor, 0.1)
        return len(served.protocols)

    assert spin(settled()) == 0
