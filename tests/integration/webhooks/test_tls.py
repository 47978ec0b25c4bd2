"""Certificates are verified, against the host's name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer

from ctfd_twisted.webhooks.client import Exchange, WebhookClient
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.reach import Network
from tests.integration.webhooks.network import Script, Spin, reactor

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Listen = Callable[..., int]
Trust = Callable[[Any], Network]


@implementer(IOpenSSLServerConnectionCreator)
class Identity:
    """A certificate that signs itself, for these names."""

    def __init__(self, *names: x509.GeneralName) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "receiver")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(who)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, SHA256())
        )
        self.pem = certificate.public_bytes(Encoding.PEM)
        self.context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self.context.use_certificate(certificate)
        self.context.use_privatekey(key)

    def serverConnectionForTLS(self, _protocol: object) -> SSL.Connection:  # noqa: N802 - Twisted's name
        """What a server that is known by this certificate says."""
        return SSL.Connection(self.context, None)


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Identity], Network]:
    """``trust(identity)``: a network of a system that has this authority, and no other."""

    def network(identity: Identity) -> Network:
        (tmp_path / "root.pem").write_bytes(identity.pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "root.pem"))
        return Network(reactor)

    return network


@pytest.fixture(scope="module")
def identity() -> Identity:
    return Identity(x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))


def ask(spin: Spin, url: str, network: Network) -> Exchange:
    async def story() -> Exchange:
        client = WebhookClient(reactor, network, "Service-Webhook")
        exchange = await client.post(url, (), b"{}", Egress(), alone=True)
        await network.close()
        return exchange

    exchange: Exchange = spin(story())
    return exchange


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_certificate_for_the_host_by_a_trusted_authority_is_accepted(
    spin: Spin, listening: Listen, identity: Identity, trust: Trust, host: str
) -> None:
    port = listening(Script(lambda: repeat(OK)), tls=identity)
    exchange = ask(spin, f"https://{host}:{port}/", trust(identity))
    assert (exchange.status, exchange.answer) == (200, b"ok")
    assert [step.step for step in exchange.steps] == ["resolve", "connect", "tls", "request", "answer"]


def refused(exchange: Exchange, script: Script) -> str:
    assert exchange.problem is not None
    assert exchange.problem.kind == "tls"
    assert (exchange.steps[-1].step, exchange.steps[-1].ok) == ("tls", False)
    assert script.requests == []
    return exchange.problem.text


def test_an_unknown_authority_is_refused(spin: Spin, listening: Listen, identity: Identity) -> None:
    script = Script(lambda: repeat(OK))
    port = listening(script, tls=identity)
    text = refused(ask(spin, f"https://localhost:{port}/", Network(reactor)), script)
    assert "certificate verify failed" in text


@pytest.mark.parametrize("names", [[x509.DNSName("other.example")], [x509.DNSName("127.0.0.1.example")]])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_certificate_for_another_host_is_refused(
    spin: Spin, listening: Listen, trust: Trust, names: list[Any], host: str
) -> None:
    script, other = Script(lambda: repeat(OK)), Identity(*names)
    port = listening(script, tls=other)
    assert "not for this host" in refused(ask(spin, f"https://{host}:{port}/", trust(other)), script)


def test_a_receiver_that_speaks_no_tls_is_told(spin: Spin, listening: Listen) -> None:
    script = Script(lambda: iter([b"HTTP/1.1 400 Bad Request\r\n\r\n"]), greets=True)
    exchange = ask(spin, f"https://127.0.0.1:{listening(script)}/", Network(reactor))
    assert exchange.problem is not None
    assert exchange.problem.kind == "tls"
