"""Real SMTP servers in threads of their own, and the real reactor, which runs only while a test waits for something."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from tests.integration.webhooks.conftest import spin as spin_alone
from tests.integration.webhooks.conftest import threads
from tests.integration.webhooks.network import Spin, reactor

__all__ = ("Spin", "reactor", "spin_alone", "threads")


@pytest.fixture
def spin(spin_alone: Spin) -> Spin:
    """``spin(coroutine)``: run the reactor until the coroutine is done; its value, or its error."""

    async def all_of_it(work: Coroutine[Deferred[Any], Any, Any]) -> Any:
        try:
            return await work
        finally:
            # What was hung up on is closed in the reactor's next turns.
            await deferLater(reactor, 0.02)

    return lambda work: spin_alone(all_of_it(work))


class Mailbox:
    """What a server was given; a recipient whose name begins with a number is refused with it."""

    def __init__(self) -> None:
        self.envelopes: list[Any] = []
        self.over_tls: list[bool] = []
        self.signed_in: list[bool] = []

    async def handle_RCPT(self, *call: Any) -> str:  # noqa: N802 - aiosmtpd's name
        _server, _session, envelope, address, _options = call
        if address[:3].isdigit():
            return f"{address[:3]} not this one"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        self.envelopes.append(envelope)
        self.over_tls.append(session.ssl is not None or server.transport.get_extra_info("sslcontext") is not None)
        self.signed_in.append(bool(session.authenticated))
        return "250 OK"


class _OnAFreePort(Controller):
    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()


class Server:
    """A running SMTP server and its mailbox."""

    def __init__(self, **options: Any) -> None:
        self.mailbox = Mailbox()
        self._controller = _OnAFreePort(self.mailbox, "127.0.0.1", 0, **options)
        self._controller.start()
        self.port = int(self._controller.port)

    def stop(self) -> None:
        self._controller.stop()


def lets_in(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:  # noqa: ARG001
    """Let in whose name is "user" and password "hunter2"."""
    return AuthResult(success=(data.login, data.password) == (b"user", b"hunter2"), handled=False)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """``serve(**options)``: an SMTP server with aiosmtpd's options."""
    servers: list[Server] = []

    def start(**options: Any) -> Server:
        servers.append(Server(**options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


class Certificate:
    """A certificate for 127.0.0.1 that nobody but its holder vouches for."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
            )
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.pem = signed.public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        both = folder / "both.pem"
        both.write_bytes(private + self.pem)
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(both)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("certificate"))
