"""A test mail over real connections: every step is told, and why the last one failed, and never a secret."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult
from msgspec.structs import replace
from twisted.internet.protocol import Factory
from twisted.internet.ssl import Certificate as Trusted
from twisted.protocols.basic import LineReceiver

from ctfd_twisted.mail.postman import Postman
from ctfd_twisted.mail.rules import Letter, Mailgun, MailStep, Route, Smtp
from tests.integration.mail.conftest import Certificate, Server, Spin, lets_in, reactor

LETTER = Letter("player@example.org", "Test", "Hello.\n")
PASSWORD = "hunter2 and more"
Serve = Callable[..., Server]


def route(server: Server, **options: Any) -> Smtp:
    return replace(Smtp("127.0.0.1", server.port, "ctf@example.org"), **options)


def tried(
    spin: Spin, route: Route, certificate: Certificate | None = None, letter: Letter = LETTER
) -> tuple[MailStep, ...]:
    postman = Postman(reactor, None if certificate is None else Trusted.loadPEM(certificate.pem))
    steps: tuple[MailStep, ...] = spin(postman.try_out(route, "My CTF", letter, patience=0.5))
    assert all(step.ok for step in steps[:-1])
    return steps


def names(steps: tuple[MailStep, ...]) -> str:
    return " ".join(step.step for step in steps)


PLAIN = "compose resolve connect greeting ehlo mail rcpt data message"


def test_a_plain_way(spin: Spin, serve: Serve) -> None:
    server = serve()
    steps = tried(spin, route(server))
    assert names(steps) == PLAIN
    assert steps[-1].ok
    told = {step.step: step.detail for step in steps}
    assert told["compose"] == "from ctf@example.org to player@example.org"
    assert told["resolve"] == "127.0.0.1"
    assert told["connect"] == f"127.0.0.1, port {server.port}"
    assert told["greeting"].startswith("220 ")
    assert "SIZE" in told["ehlo"]
    assert told["message"] == "250 OK"
    assert [step.ms for step in steps] == sorted(step.ms for step in steps)
    assert len(server.mailbox.envelopes) == 1


def test_by_starttls_with_a_name(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(tls_context=certificate.context, authenticator=lets_in, auth_required=True)
    wanted = route(server, tls=True, username="user", password="hunter2")
    steps = tried(spin, wanted, certificate)
    assert names(steps) == PLAIN.replace("ehlo", "ehlo starttls tls ehlo auth")
    assert steps[-1].ok
    (tls,) = (step for step in steps if step.step == "tls")
    assert tls.detail == "TLSv1.3, with a certificate for 127.0.0.1"
    assert "hunter2" not in repr(steps)


def test_by_tls_from_the_start(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    steps = tried(spin, route(serve(ssl_context=certificate.context), ssl=True), certificate)
    assert names(steps) == PLAIN.replace("greeting", "tls greeting")
    assert steps[-1].ok


@pytest.mark.parametrize(
    ("kind", "way"),
    [("ssl", "compose resolve connect tls"), ("tls", "compose resolve connect greeting ehlo starttls tls")],
)
def test_a_certificate_of_nobody(spin: Spin, serve: Serve, certificate: Certificate, kind: str, way: str) -> None:
    steps = tried(spin, route(serve(**{f"{kind}_context": certificate.context}), **{kind: True}))
    assert names(steps) == way
    assert not steps[-1].ok
    assert "certificate verify failed" in steps[-1].detail


def test_no_starttls(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    steps = tried(spin, route(serve(), tls=True), certificate)
    assert names(steps) == "compose resolve connect greeting ehlo starttls"
    assert (steps[-1].ok, steps[-1].detail) == (False, "SMTP server does not offer STARTTLS")


def test_no_way_to_sign_in(spin: Spin, serve: Serve) -> None:
    steps = tried(spin, route(serve(), username="user", password=PASSWORD))
    assert names(steps) == "compose resolve connect greeting ehlo auth"
    assert not steps[-1].ok


def test_a_wrong_password(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(tls_context=certificate.context, authenticator=lets_in, auth_required=True)
    steps = tried(spin, route(server, tls=True, username="user", password=PASSWORD), certificate)
    assert names(steps).endswith("starttls tls ehlo auth")
    assert steps[-1].detail.startswith("SMTP server did not accept the user name and password: 535")


@pytest.mark.parametrize("mechanism", ["LOGIN", "PLAIN"])
def test_a_server_that_repeats_what_it_heard(
    spin: Spin, serve: Serve, certificate: Certificate, mechanism: str
) -> None:
    def repeats(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        heard = b"\0" + data.login + b"\0" + data.password
        both = (data.password, base64.b64encode(data.password), base64.b64encode(heard))
        return AuthResult(success=False, handled=False, message="535 " + " ".join(part.decode() for part in both))

    other = {"LOGIN": "PLAIN", "PLAIN": "LOGIN"}[mechanism]
    server = serve(tls_context=certificate.context, authenticator=repeats, auth_exclude_mechanism=[other])
    steps = tried(spin, route(server, tls=True, username="user", password=PASSWORD), certificate)
    assert steps[-1].detail.endswith("535 *** *** ***")


@pytest.mark.parametrize(("address", "step"), [("550@example.org", "rcpt"), ("a@b.co>\r\nRSET", "compose")])
def test_a_recipient_who_is_refused(spin: Spin, serve: Serve, address: str, step: str) -> None:
    steps = tried(spin, route(serve()), letter=replace(LETTER, recipient=address))
    assert (steps[-1].step, steps[-1].ok) == (step, False)
    assert "\n" not in steps[-1].detail


def test_a_message_that_is_too_large(spin: Spin, serve: Serve) -> None:
    steps = tried(spin, route(serve(data_size_limit=10)))
    assert names(steps) == PLAIN
    assert not steps[-1].ok


def test_a_name_that_nobody_has(spin: Spin) -> None:
    steps = tried(spin, Smtp("nobody.invalid", 25, "ctf@example.org"))
    assert names(steps) == "compose resolve"
    assert steps[-1].detail == "SMTP server nobody.invalid is not known"


def test_nobody_at_the_port(spin: Spin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    steps = tried(spin, Smtp("127.0.0.1", port, "ctf@example.org"))
    assert names(steps) == "compose resolve connect"
    assert steps[-1].detail == f"SMTP server 127.0.0.1:{port} refused the connection"


def test_a_server_that_says_nothing(spin: Spin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        steps = tried(spin, Smtp("127.0.0.1", silent.getsockname()[1], "ctf@example.org"))
    assert names(steps) == "compose resolve connect greeting"
    assert steps[-1].detail == "SMTP server connection timed out"


def test_what_is_no_mail_server(spin: Spin) -> None:
    class Other(LineReceiver):
        def connectionMade(self) -> None:
            self.sendLine(b"SSH-2.0-Other " + b"x" * 1000)

    async def try_it() -> tuple[MailStep, ...]:
        port = reactor.listenTCP(0, Factory.forProtocol(Other), interface="127.0.0.1")
        try:
            there = Smtp("127.0.0.1", port.getHost().port, "ctf@example.org")
            return await Postman(reactor).try_out(there, "My CTF", LETTER, patience=0.5)
        finally:
            await port.stopListening()

    steps = spin(try_it())
    assert (steps[-1].step, steps[-1].ok) == ("greeting", False)
    assert len(steps[-1].detail) <= 300


def test_mailgun_is_one_step(spin: Spin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = f"http://127.0.0.1:{gone.getsockname()[1]}/v3/example.org"
    (step,) = tried(spin, Mailgun(address, "key-1234", "ctf@example.org"))
    assert (step.step, step.ok) == ("request", False)
    assert "Connection refused" in step.detail or "refused" in step.detail.lower()
    assert "key-1234" not in step.detail
