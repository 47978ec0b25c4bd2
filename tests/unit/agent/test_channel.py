"""The bounds of the HTTP server, on a connection in memory."""

from io import StringIO

from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.interfaces import IAddress
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.resource import Resource
from twisted.web.server import Request

from koth_agent.channel import (
    BODY_BYTES,
    MOST_CONNECTIONS,
    MOST_CONNECTIONS_OF_ONE,
    REQUEST_SECONDS,
    AgentChannel,
    AgentSite,
)

REQUEST = b"GET /status HTTP/1.1\r\nHost: h\r\n\r\n"
STRANGER = IPv4Address("TCP", "203.0.113.5", 40000)


class Page(Resource):
    isLeaf = True

    def render(self, request: Request) -> bytes:
        return b"here" if request.path == b"/status" else b"asked for " + request.path


class ChannelTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.site = AgentSite(Page(), self.clock)

    def connect(self, peer: IAddress = STRANGER) -> tuple[AgentChannel, StringTransport]:
        transport = StringTransport(peerAddress=peer)
        channel = self.site.buildProtocol(peer)
        assert isinstance(channel, AgentChannel)
        channel.makeConnection(transport)
        return channel, transport

    def leave(self, channel: AgentChannel) -> None:
        channel.connectionLost(Failure(ConnectionError()))

    def test_a_connection_serves_one_request_after_the_other(self) -> None:
        channel, transport = self.connect()
        channel.dataReceived(REQUEST + REQUEST)
        assert transport.value().count(b"here") == 2

    def test_a_silent_connection_ends(self) -> None:
        _, transport = self.connect()
        self.clock.advance(REQUEST_SECONDS)
        assert transport.disconnecting

    def test_a_request_may_not_trickle_in(self) -> None:
        channel, transport = self.connect()
        for _ in range(REQUEST_SECONDS):
            assert not transport.disconnecting
            channel.dataReceived(b"G")
            self.clock.advance(1)
        assert transport.disconnecting

    def test_a_request_s_time_begins_with_the_answer_before(self) -> None:
        channel, transport = self.connect()
        self.clock.advance(REQUEST_SECONDS - 1)
        channel.dataReceived(REQUEST)
        self.clock.advance(REQUEST_SECONDS - 1)
        assert not transport.disconnecting
        self.clock.advance(1)
        assert transport.disconnecting

    def test_a_connection_that_will_not_close_is_aborted(self) -> None:
        _, transport = self.connect()
        self.clock.advance(REQUEST_SECONDS)
        self.clock.advance(AgentChannel.abortTimeout)
        assert transport.disconnected

    def test_headers_are_bounded_in_size_and_number(self) -> None:
        too_long = b"X: " + b"a" * 17_000 + b"\r\n"
        too_large = (b"X: " + b"a" * 5000 + b"\r\n") * 4
        too_many = b"X: a\r\n" * 200
        for headers, answer in ((too_long, b""), (too_large, b"HTTP/1.1 400 "), (too_many, b"HTTP/1.1 400 ")):
            channel, transport = self.connect()
            channel.dataReceived(b"GET /status HTTP/1.1\r\n" + headers + b"\r\n")
            assert transport.value().startswith(answer)
            assert b"here" not in transport.value()
            assert transport.disconnecting

    def test_a_small_body_is_read_and_forgotten(self) -> None:
        channel, transport = self.connect()
        channel.dataReceived(b"POST /status HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + REQUEST)
        assert transport.value().count(b"here") == 2

    def test_a_large_body_is_refused_before_it_comes(self) -> None:
        channel, transport = self.connect()
        channel.dataReceived(b"POST /status HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES + 1))
        assert transport.value().startswith(b"HTTP/1.1 413 ")
        assert transport.disconnecting

    def test_a_body_in_chunks_is_refused_once_it_is_large(self) -> None:
        channel, transport = self.connect()
        channel.dataReceived(b"POST /status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"1000\r\n" + b"a" * 0x1000 + b"\r\n"
        for _ in range(BODY_BYTES // 0x1000):
            channel.dataReceived(piece)
        assert transport.value() == b""
        channel.dataReceived(piece + b"0\r\n\r\n")
        assert transport.value().startswith(b"HTTP/1.1 413 ")
        assert b"here" not in transport.value()

    def test_an_asterisk_is_a_path_like_any_other(self) -> None:
        for method in (b"GET", b"OPTIONS"):
            channel, transport = self.connect()
            channel.dataReceived(method + b" * HTTP/1.1\r\n\r\n")
            assert b"asked for /*" in transport.value()

    def test_one_address_has_only_so_many_connections(self) -> None:
        channels = [self.connect()[0] for _ in range(MOST_CONNECTIONS_OF_ONE)]
        refused, transport = self.connect()
        assert transport.disconnected
        self.leave(refused)
        assert self.connect()[1].disconnected  # a refusal frees no place
        assert not self.connect(IPv4Address("TCP", "203.0.113.6", 1))[1].disconnected
        self.leave(channels[0])
        assert not self.connect()[1].disconnected

    def test_the_host_itself_and_unix_sockets_are_only_part_of_the_crowd(self) -> None:
        local = [IPv4Address("TCP", "127.0.0.1", 1), IPv6Address("TCP", "::1", 1), UNIXAddress("/run/agent")]
        for number in range(MOST_CONNECTIONS):
            assert not self.connect(local[number % 3])[1].disconnected
        assert self.connect()[1].disconnected

    def test_addresses_that_left_are_not_remembered(self) -> None:
        for number in range(2000):
            channel, _ = self.connect(IPv4Address("TCP", f"10.0.{number // 250}.{number % 250}", 1))
            self.leave(channel)
        assert not self.site._connections

    def test_http_2_is_not_offered(self) -> None:
        assert self.site.acceptableProtocols() == [b"http/1.1"]

    def test_the_access_log_is_short_and_has_no_query(self) -> None:
        written = self.site.logFile = StringIO()
        channel, _ = self.connect()
        channel.dataReceived(b"GET /status?apikey=SECRET HTTP/1.1\r\n\r\n")
        channel.dataReceived(b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n")
        lines = written.getvalue().splitlines()
        assert lines[0] == '203.0.113.5 "GET /status" 200'
        assert len(lines[1]) < 150
