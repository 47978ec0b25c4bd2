"""A provider of sign-ins over sockets: what it is sent, how long it is listened to, and whom TLS trusts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, globalLogPublisher
from zope.interface import implementer

from ctfd_twisted.accounts.oauth_client import SECONDS, OAuthClient
from ctfd_twisted.accounts.oauth_reach import Network
from ctfd_twisted.accounts.oauth_rules import Profile, Provider, Team, Turned
from ctfd_twisted.testing.oauth import CLIENT
from ctfd_twisted.testing.oauth import Provider as Server
from tests.integration.webhooks.network import Last, Script, Spin, reactor, site
from tests.integration.webhooks.test_tls import Identity

Listen = Callable[..., int]


def fine(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """What the log says of the provider."""
    said: list[str] = []

    @implementer(ILogObserver)
    def hear(event: Any) -> None:
        if event.get("why"):
            said.append(str(event["why"]))

    globalLogPublisher.addObserver(hear)
    yield said
    globalLogPublisher.removeObserver(hear)


def at(base: str) -> Provider:
    return Provider(
        **CLIENT, authorization_endpoint="", token_endpoint=f"{base}/oauth/token", api_endpoint=f"{base}/user"
    )


def ask(spin: Spin, base: str, code: str = "a code", network: Network | None = None) -> Profile | str:
    """Whom *code* is about, or why that is not known."""

    async def story() -> Profile | str:
        try:
            return await OAuthClient(reactor, network or Network(reactor)).profile(at(base), code)
        except Turned as turned:
            return turned.reason

    answer: Profile | str = spin(story())
    return answer


def test_a_code_becomes_a_profile(spin: Spin, listening: Listen) -> None:
    server = Server("http://ctf.example/redirect")
    server.add(7, "ada", (70, "Lovelaces"))
    base = f"http://127.0.0.1:{listening(site(server.app.resource()))}"
    code = server.grant("ada")
    assert ask(spin, base, code) == Profile(7, "ada", "ada@example.org", team=Team(70, "Lovelaces"))
    assert ask(spin, base, code) == "token"


def test_what_is_sent_is_a_form_and_then_a_bearer(spin: Spin, listening: Listen) -> None:
    told = fine(b'{"id": 7, "name": "ada", "email": "ada@example.org"}')
    answers = iter([fine(b'{"access_token": "tok"}'), told])
    script = Script(lambda: answers)
    base = f"http://127.0.0.1:{listening(script)}"
    assert ask(spin, base, "a&b") == Profile(7, "ada", "ada@example.org")
    token, user = (request.decode() for request in script.requests)
    assert token.startswith("POST /oauth/token HTTP/1.1\r\n")
    assert "Content-Type: application/x-www-form-urlencoded\r\n" in token
    assert token.endswith(
        "\r\n\r\ncode=a%26b&client_id=platform&client_secret=a+secret+that+nobody+else+knows"
        "&grant_type=authorization_code"
    )
    assert user.startswith("GET /user HTTP/1.1\r\n")
    assert "Authorization: Bearer tok\r\n" in user
    assert len(script.connections) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: of a header\r\n" * 20_000,
        b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 400_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 80000\r\n\r\n" + b" " * 80_000,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        Last(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
        None,
    ],
)
def test_an_answer_that_is_none_ends_at_once(spin: Spin, listening: Listen, answer: bytes | None) -> None:
    script = Script(lambda: repeat(answer))
    assert ask(spin, f"http://127.0.0.1:{listening(script)}") == "away"
    assert len(script.requests) == 1


@pytest.mark.parametrize("base", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_who_does_not_listen_is_away(spin: Spin, base: str) -> None:
    assert ask(spin, base) == "away"


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"HTTP/1.1 200 OK\r\nX: "])
def test_who_hangs_is_hung_up_on(spin: Spin, listening: Listen, warnings: list[str], said: bytes) -> None:
    script = Script(lambda: repeat(said))
    base, clock = f"http://127.0.0.1:{listening(script)}", Clock()

    async def story() -> str:
        heard: Deferred[None] = Deferred()
        script.requests = _Told(heard)
        asking = Deferred.fromCoroutine(OAuthClient(clock, Network(reactor)).profile(at(base), "c"))
        await heard
        (connection,) = script.connections
        gone: Deferred[None] = Deferred()
        connection.connectionLost = lambda _: gone.callback(None)  # type: ignore[method-assign,misc,assignment]
        clock.advance(SECONDS - 0.1)
        assert not asking.called
        clock.advance(0.2)
        try:
            await asking
        except Turned as turned:
            await gone
            return turned.reason
        return "answered"

    assert spin(story()) == "away"
    assert warnings == ["no complete answer within 5 seconds"]


class _Told(list[bytes]):
    """A list that tells when something is put into it."""

    def __init__(self, told: Deferred[None]) -> None:
        super().__init__()
        self._told = told

    def append(self, item: bytes) -> None:
        super().append(item)
        reactor.callLater(0, self._told.callback, None)


def test_a_redirect_is_not_followed(spin: Spin, listening: Listen) -> None:
    server = Server("")
    server.faults["token"] = "elsewhere"
    assert ask(spin, f"http://127.0.0.1:{listening(site(server.app.resource()))}") == "token"
    assert len(server.exchanges) == 1


def test_tls_trusts_the_systems_authorities_for_the_right_name_alone(
    spin: Spin, listening: Listen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warnings: list[str]
) -> None:
    right = Identity(x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))
    wrong = Identity(x509.DNSName("other.example"))
    server = Server("")
    server.add(7, "ada")
    ports = [listening(site(server.app.resource()), tls=identity) for identity in (right, wrong)]
    assert ask(spin, f"https://localhost:{ports[0]}", server.grant("ada")) == "away"
    (tmp_path / "roots.pem").write_bytes(right.pem + wrong.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "roots.pem"))
    for host in ("localhost", "127.0.0.1"):
        found = ask(spin, f"https://{host}:{ports[0]}", server.grant("ada"), Network(reactor))
        assert found == Profile(7, "ada", "ada@example.org")
    assert ask(spin, f"https://localhost:{ports[1]}", server.grant("ada"), Network(reactor)) == "away"
    assert len(server.exchanges) == 2
    assert "certificate verify failed" in warnings[0]
    assert "VerificationError" in warnings[1]
