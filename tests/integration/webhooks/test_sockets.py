"""What goes over the wire, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IHostnameResolver, IReactorPluggableNameResolver
from zope.interface import implementer

from ctfd_twisted.testing.webhooks import Receiver
from ctfd_twisted.webhooks import client as module
from ctfd_twisted.webhooks.client import Exchange, WebhookClient
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.reach import Network
from ctfd_twisted.webhooks.signatures import event_headers
from tests.integration.webhooks.network import Last, Script, Spin, reactor, site

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN = Egress()
HEADERS = event_headers(
    "Service-Webhook",
    ["secret"],
    event="team.created",
    delivery_id="whd_1",
    timestamp=1_763_640_000,
    body=b"{}",
    standard=False,
)

Listen = Callable[..., int]


def post(spin: Spin, *urls: str, egress: Egress = OPEN, network: Network | None = None) -> list[Exchange]:
    """Post to each of *urls*, one after another, with one client."""
    client = WebhookClient(reactor, network or Network(reactor), "Service-Webhook")

    async def story() -> list[Exchange]:
        exchanges = [await client.post(url, HEADERS, b"{}", egress) for url in urls]
        await client.reach.close()
        return exchanges

    exchanges: list[Exchange] = spin(story())
    return exchanges


def test_the_request_is_the_specifications_byte_for_byte(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    port = listening(script)
    (exchange,) = post(spin, f"http://127.0.0.1:{port}/hook?a=1")
    assert exchange.status == 200
    (request,) = script.requests
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /hook?a=1 HTTP/1.1"
    assert body == b"{}"
    sent = dict(line.split(": ", 1) for line in lines)
    assert len(lines) == 9
    assert sent == {**dict(HEADERS), "Host": f"127.0.0.1:{port}", "Content-Length": "2"}
    assert sent == dict(exchange.request_headers)


def test_a_burst_uses_one_connection(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    url = f"http://127.0.0.1:{listening(script)}/"
    assert [exchange.status for exchange in post(spin, *[url] * 5)] == [200] * 5
    assert (len(script.requests), len(script.connections)) == (5, 1)


def test_a_kept_connection_that_is_closed_is_nobodys_failure(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: iter([OK, None]))
    url = f"http://127.0.0.1:{listening(script)}/"
    assert [exchange.status for exchange in post(spin, *[url] * 3)] == [200] * 3
    assert len(script.connections) == 3


def test_a_receiver_that_hangs_up_without_an_answer_is_asked_once(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: iter([None]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert exchange.problem is not None
    assert exchange.problem.text == "The connection was closed without an answer."
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", None),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302),
        (b"HTTP/1.1 99999999999999999999 OK\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 -1 OK\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 100 Continue\r\n\r\n", None),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.0 200 OK\r\n\r\n", 200),
    ],
)
def test_any_answer_is_an_outcome(spin: Spin, listening: Listen, answer: bytes, status: int | None) -> None:
    script = Script(lambda: iter([Last(answer)]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert exchange.status == status
    assert (exchange.problem is None) == (status is not None)


@pytest.mark.parametrize(
    ("head", "complete"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", False),
    ],
)
def test_an_answer_without_a_length_ends_with_its_connection(
    spin: Spin, listening: Listen, head: bytes, *, complete: bool
) -> None:
    script = Script(lambda: iter([Last(head + b"{}")]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert (exchange.status, exchange.complete) == (200, complete)


def test_a_flood_of_headers_is_cut_off(spin: Spin, listening: Listen) -> None:
    flood = b"HTTP/1.1 200 OK\r\n" + (b"X-Flood: " + b"x" * 8000 + b"\r\n") * 200
    script = Script(lambda: iter([flood]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert exchange.problem is not None
    assert exchange.problem.kind == "answer"


def test_a_large_answer_is_read_to_its_fourth_kib(spin: Spin, listening: Listen) -> None:
    large = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 10_000_000
    script = Script(lambda: iter([large]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert (exchange.status, exchange.answer, exchange.complete) == (200, b"x" * 4096, False)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXCHANGE", 0.4)


@pytest.mark.usefixtures("hurried")
def test_silence_is_a_timeout(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: iter([b""]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert exchange.problem is not None
    assert exchange.problem.kind == "timeout"
    assert exchange.latency_ms >= 400


@pytest.mark.usefixtures("hurried")
def test_a_status_in_time_counts_although_its_body_is_slow(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: iter([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow"]))
    (exchange,) = post(spin, f"http://127.0.0.1:{listening(script)}/")
    assert (exchange.status, exchange.answer, exchange.complete) == (200, b"slow", False)
    assert exchange.problem is not None
    assert exchange.problem.kind == "timeout"


def test_names_and_ipv6_are_reached(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    named = f"http://localhost:{listening(script)}/"
    literal = f"http://[::1]:{listening(script, interface='::1')}/"
    assert [exchange.status for exchange in post(spin, named, literal)] == [200, 200]
    assert f"Host: {literal[7:-1]}".encode() in script.requests[1]


def test_nobody_there_is_told(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    port = listening(script, interface="127.0.0.2")
    refused, unknown = post(spin, f"http://127.0.0.1:{port}/", "http://no-such-name.invalid/")
    assert refused.problem is not None
    assert unknown.problem is not None
    assert (refused.problem.kind, unknown.problem.kind) == ("connection", "dns")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_denied_address_is_never_connected_to(spin: Spin, listening: Listen, host: str) -> None:
    script = Script(lambda: repeat(OK))
    url = f"http://{host}:{listening(script)}/"
    denied, private = Egress.of("127.0.0.0/8, ::1", private=True), Egress(private=False)
    for egress in (denied, private):
        (exchange,) = post(spin, url, egress=egress)
        assert exchange.problem is not None
        assert exchange.problem.kind == "egress"
    assert script.connections == []


@implementer(IHostnameResolver)
class Fickle:
    """A resolver that answers with the next list of addresses each time it is asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)

    def resolveHostName(self, receiver: Any, name: str, portNumber: int = 0, *_: Any) -> Any:  # noqa: N802, N803, ARG002
        receiver.resolutionBegan(None)
        for address in self.answers.pop(0):
            receiver.addressResolved(IPv4Address("TCP", address, portNumber))
        receiver.resolutionComplete()


@implementer(IReactorPluggableNameResolver)
class FickleReactor:
    """The reactor with another resolver, that notes to whom connections are made."""

    def __init__(self, *answers: list[str]) -> None:
        self.nameResolver: Any = Fickle(*answers)
        self.connected: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)

    def installNameResolver(self, resolver: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def connectTCP(self, host: str, *rest: Any, **options: Any) -> Any:  # noqa: N802
        self.connected.append(host)
        return reactor.connectTCP(host, *rest, **options)


def test_a_name_is_asked_for_once_and_its_answer_connected_to(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    url = f"http://rebinding.example:{listening(script)}/"
    fickle = FickleReactor(["127.0.0.1"], ["169.254.169.254"])
    network = Network(fickle)
    (exchange,) = post(spin, url, network=network)
    assert exchange.status == 200
    assert b"Host: rebinding.example" in script.requests[0]
    (exchange,) = post(spin, url, network=network)
    assert exchange.problem is not None
    assert exchange.problem.kind == "egress"
    assert fickle.connected == ["127.0.0.1"]


def test_one_bad_address_spoils_a_name(spin: Spin) -> None:
    fickle = FickleReactor(["127.0.0.1", "169.254.169.254"])
    (exchange,) = post(spin, "http://mixed.example/", network=Network(fickle))
    assert exchange.problem is not None
    assert "link-local" in exchange.problem.text
    assert fickle.connected == []


def test_new_rules_hold_for_connections_that_are_open(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    url = f"http://127.0.0.1:{listening(script)}/"
    client = WebhookClient(reactor, Network(reactor), "Service-Webhook")

    async def story() -> list[Exchange]:
        first = await client.post(url, HEADERS, b"{}", OPEN)
        return [first, await client.post(url, HEADERS, b"{}", Egress(private=False))]

    first, second = spin(story())
    assert first.status == 200
    assert second.problem.kind == "egress"


def test_an_onion_service_is_reached_through_tor_without_asking_for_its_name(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: repeat(OK))
    asked: list[tuple[str, int]] = []
    port = listening(script)

    def onion(host: str, onion_port: int) -> TCP4ClientEndpoint:
        asked.append((host, onion_port))
        return TCP4ClientEndpoint(reactor, "127.0.0.1", port)

    fickle = FickleReactor()  # has no answer to any question
    through, without = Network(fickle, onion), Network(fickle)
    (exchange,) = post(spin, "http://abcdef.onion/hook", network=through, egress=Egress(private=False))
    assert exchange.status == 200
    assert asked == [("abcdef.onion", 80)]
    assert b"Host: abcdef.onion\r\n" in script.requests[0]
    (exchange,) = post(spin, "http://abcdef.onion/hook", network=without)
    assert exchange.problem is not None
    assert "Tor" in exchange.problem.text
    assert (through.onion, without.onion) == (True, False)


def test_klein_receives_what_was_sent(spin: Spin, listening: Listen) -> None:
    receiver = Receiver(lambda: "")
    post(spin, f"http://127.0.0.1:{listening(site(receiver.app.resource()))}/hook")
    (one,) = receiver.events
    assert (one.event, one.id, one.body) == ("team.created", "whd_1", b"{}")
