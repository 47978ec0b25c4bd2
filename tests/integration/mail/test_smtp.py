"""Letters over real connections to a real server: plain, STARTTLS, TLS from the start, with names and passwords."""

from __future__ import annotations

import socket
from collections.abc import Callable
from email import message_from_bytes, policy
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult
from msgspec.structs import replace
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import Certificate as Trusted

from ctfd_twisted.mail.postman import Postman
from ctfd_twisted.mail.rules import Letter, Smtp
from ctfd_twisted.mail.sender import NotSentError
from tests.integration.mail.conftest import Certificate, Server, Spin, lets_in, reactor

LETTER = Letter("player@example.org", "Grüße", "ünïcode\n.\n.dot\n" + "long " * 300 + "\n")
Serve = Callable[..., Server]


def route(server: Server, **options: Any) -> Smtp:
    return replace(Smtp("127.0.0.1", server.port, "ctf@example.org"), **options)


def postman(certificate: Certificate | None = None) -> Postman:
    return Postman(reactor, None if certificate is None else Trusted.loadPEM(certificate.pem))


def refusal(spin: Spin, sending: Any) -> NotSentError:
    with pytest.raises(NotSentError) as raised:
        spin(sending)
    return raised.value


def test_a_letter_arrives_whole(spin: Spin, serve: Serve) -> None:
    server = serve()
    spin(postman().send(route(server), "My CTF", LETTER))
    (envelope,) = server.mailbox.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("ctf@example.org", ["player@example.org"])
    message = message_from_bytes(envelope.content, policy=policy.default)
    assert (message["subject"], message["from"]) == ("Grüße", "My CTF <ctf@example.org>")
    assert message.get_content().replace("\r\n", "\n") == LETTER.body
    assert server.mailbox.over_tls == [False]


def test_starttls_is_used_where_the_settings_say_so(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(tls_context=certificate.context, require_starttls=True)
    spin(postman(certificate).send(route(server, tls=True), "My CTF", LETTER))
    assert server.mailbox.over_tls == [True]


def test_without_starttls_nothing_is_sent_in_the_clear(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve()
    error = refusal(spin, postman(certificate).send(route(server, tls=True), "My CTF", LETTER))
    assert str(error) == "SMTP server does not offer STARTTLS"
    assert server.mailbox.envelopes == []


@pytest.mark.parametrize("kind", ["tls", "ssl"])
def test_a_server_whose_name_is_none_is_told(spin: Spin, kind: str) -> None:
    nameless = replace(Smtp("mail..example", 25, "ctf@example.org"), **{kind: True})
    assert "connection failed" in str(refusal(spin, postman().send(nameless, "My CTF", LETTER)))


def test_tls_from_the_start(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(ssl_context=certificate.context)
    spin(postman(certificate).send(route(server, ssl=True), "My CTF", LETTER))
    assert server.mailbox.over_tls == [True]


@pytest.mark.parametrize("kind", ["tls", "ssl"])
def test_a_certificate_of_nobody_is_refused(spin: Spin, serve: Serve, certificate: Certificate, kind: str) -> None:
    server = serve(**{f"{kind}_context": certificate.context})
    error = refusal(spin, postman().send(route(server, **{kind: True}), "My CTF", LETTER))
    assert "certificate verify failed" in str(error)
    assert not error.for_good
    assert server.mailbox.envelopes == []


@pytest.mark.parametrize("exclude", [[], ["PLAIN"], ["LOGIN"]])
def test_one_signs_in_where_there_is_a_name(
    spin: Spin, serve: Serve, certificate: Certificate, exclude: list[str]
) -> None:
    server = serve(
        tls_context=certificate.context, authenticator=lets_in, auth_required=True, auth_exclude_mechanism=exclude
    )
    spin(postman(certificate).send(route(server, tls=True, username="user", password="hunter2"), "My CTF", LETTER))
    assert server.mailbox.signed_in == [True]


def test_a_wrong_password_is_told_without_being_shown(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(tls_context=certificate.context, authenticator=lets_in, auth_required=True)
    wrong = route(server, tls=True, username="user", password="hunter3")
    error = refusal(spin, postman(certificate).send(wrong, "My CTF", LETTER))
    assert str(error).startswith("SMTP server did not accept the user name and password: 535")
    assert "hunter3" not in str(error)
    assert "aHVudGVyM" not in str(error)
    assert not error.for_good


def test_a_password_that_a_server_repeats_is_not_told(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    def repeats(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=False, handled=False, message=f"535 no {data.password.decode()} here")

    server = serve(tls_context=certificate.context, authenticator=repeats)
    wrong = route(server, tls=True, username="user", password="hunter3")
    error = refusal(spin, postman(certificate).send(wrong, "My CTF", LETTER))
    assert str(error).endswith("535 no *** here")


def test_a_server_that_wants_a_name_is_a_matter_of_settings(spin: Spin, serve: Serve, certificate: Certificate) -> None:
    server = serve(tls_context=certificate.context, authenticator=lets_in, auth_required=True)
    error = refusal(spin, postman(certificate).send(route(server, tls=True), "My CTF", LETTER))
    assert str(error).startswith("SMTP server refused: 530")
    assert not error.for_good


@pytest.mark.parametrize(("recipient", "for_good"), [("550@example.org", True), ("450@example.org", False)])
def test_a_refused_recipient_is_tried_again_only_where_that_may_help(
    spin: Spin, serve: Serve, recipient: str, *, for_good: bool
) -> None:
    error = refusal(spin, postman().send(route(serve()), "My CTF", replace(LETTER, recipient=recipient)))
    assert str(error) == f"SMTP server refused: {recipient[:3]} not this one"
    assert error.for_good is for_good


def test_an_impossible_recipient_is_refused_here(spin: Spin, serve: Serve) -> None:
    server = serve()
    error = refusal(spin, postman().send(route(server), "My CTF", replace(LETTER, recipient="a@b.co>\r\nRSET")))
    assert error.for_good
    assert server.mailbox.envelopes == []


def test_a_silent_server_is_waited_for_so_long(spin: Spin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_route = Smtp("127.0.0.1", silent.getsockname()[1], "ctf@example.org")
        error = refusal(spin, postman().send(silent_route, "My CTF", LETTER, patience=0.1))
    assert str(error) == "SMTP server connection timed out"


def test_nobody_at_the_port_is_told(spin: Spin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    error = refusal(spin, postman().send(Smtp("127.0.0.1", port, "ctf@example.org"), "My CTF", LETTER))
    assert str(error) == f"SMTP server 127.0.0.1:{port} refused the connection"


def test_a_server_that_hangs_up_is_told(spin: Spin) -> None:
    class HangsUp(Protocol):
        def connectionMade(self) -> None:
            assert self.transport is not None
            self.transport.loseConnection()

    async def send() -> None:
        port = reactor.listenTCP(0, Factory.forProtocol(HangsUp), interface="127.0.0.1")
        try:
            await postman().send(Smtp("127.0.0.1", port.getHost().port, "ctf@example.org"), "My CTF", LETTER)
        finally:
            await port.stopListening()

    assert str(refusal(spin, send())).startswith("SMTP server connection failed:")
