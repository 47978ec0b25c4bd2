"""TLS to agents: the expected certificate, for the expected host, and nothing less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from OpenSSL import SSL
from OpenSSL.crypto import X509
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer

from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.reach import Network
from ctfd_twisted.testing.fake_agent import FakeAgent
from ctfd_twisted.testing.hills import hill_settings
from tests.integration.webhooks.network import Spin, reactor, site

Listen = Callable[..., int]
Serve = Callable[..., int]
Poll = Callable[..., Evidence]
NAMES = ("127.0.0.1", "localhost")


@implementer(IOpenSSLServerConnectionCreator)
class Server:
    """The side of a server that shows *own*."""

    def __init__(self, own: Any, *chain: Any, clients: Any = None) -> None:
        self.context = SSL.Context(SSL.TLS_SERVER_METHOD)
        self.context.use_certificate(own.certificate)
        self.context.use_privatekey(own.key)
        for link in chain:
            self.context.add_extra_chain_cert(link.certificate)
        self.demand = SSL.VERIFY_NONE
        if clients is not None:
            store = self.context.get_cert_store()
            assert store is not None
            store.add_cert(X509.from_cryptography(clients.certificate))
            self.demand = SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:  # noqa: ARG002, N802 - Twisted's name
        connection = SSL.Connection(self.context, None)
        connection.set_verify(self.demand, lambda _connection, _certificate, _error, _depth, trusted: bool(trusted))
        return connection


@pytest.fixture(scope="module")
def authority(paper: Any) -> Any:
    return paper(authority=True)


@pytest.fixture
def serve(listening: Listen) -> Serve:
    """``serve(paper, clients=None)``: an agent that shows *paper*, and asks for papers that *clients* has signed."""

    def start(shows: Any, *chain: Any, clients: Any = None) -> int:
        return listening(site(FakeAgent("ada", key="sesame")), tls=Server(shows, *chain, clients=clients))

    return start


@pytest.fixture
def poll(spin: Spin) -> Poll:
    def ask(port: int, host: str = "127.0.0.1", **settings: Any) -> Evidence:
        url = f"https://{host}:{port}/status"
        hill = hill_settings(url=url, timeout=5, api_key="sesame", **settings)
        return spin(HillClient(reactor, Network(reactor)).poll(hill))  # type: ignore[no-any-return]

    return ask


@pytest.mark.parametrize("host", NAMES)
def test_a_pinned_certificate_that_signed_itself_is_accepted_for_its_names(
    paper: Any, serve: Serve, poll: Poll, host: str
) -> None:
    own = paper(*NAMES)
    evidence = poll(serve(own), host, tls_certificate=own.pem)
    assert (evidence.failure, evidence.owners, evidence.signed) == (None, ("ada",), True)
    assert evidence.fingerprint == own.fingerprint


def test_a_pinned_authority_vouches_for_what_it_signed(paper: Any, authority: Any, serve: Serve, poll: Poll) -> None:
    port = serve(paper(*NAMES, issuer=authority))
    assert poll(port, tls_certificate=authority.pem).owners == ("ada",)


def test_a_chain_through_an_authority_between_is_followed(paper: Any, authority: Any, serve: Serve, poll: Poll) -> None:
    between = paper(issuer=authority, authority=True)
    port = serve(paper(*NAMES, issuer=between), between)
    assert poll(port, tls_certificate=authority.pem).owners == ("ada",)


def test_a_pinned_certificate_is_accepted_although_its_authority_is_unknown(
    paper: Any, authority: Any, serve: Serve, poll: Poll
) -> None:
    leaf = paper(*NAMES, issuer=authority)
    assert poll(serve(leaf), tls_certificate=leaf.pem).owners == ("ada",)


def test_one_of_several_pinned_certificates_is_enough(paper: Any, serve: Serve, poll: Poll) -> None:
    old, new = paper(*NAMES), paper(*NAMES)
    assert poll(serve(new), tls_certificate=old.pem + new.pem).owners == ("ada",)


@pytest.mark.parametrize(
    ("names", "host"),
    [
        (("10.0.0.9",), "127.0.0.1"),
        (("hill.example",), "localhost"),
        (("localhost",), "127.0.0.1"),
        (("127.0.0.1",), "localhost"),
    ],
)
def test_the_host_is_checked_even_when_the_certificate_is_pinned(
    paper: Any, serve: Serve, poll: Poll, names: tuple[str, ...], host: str
) -> None:
    other = paper(*names)
    evidence = poll(serve(other), host, tls_certificate=other.pem)
    assert (evidence.failure, evidence.connected) == ("tls_error", True)
    assert "another host" in evidence.detail
    assert evidence.fingerprint == other.fingerprint


def test_another_certificate_than_the_pinned_one_is_a_tls_error(paper: Any, serve: Serve, poll: Poll) -> None:
    shown = paper(*NAMES)
    evidence = poll(serve(shown), tls_certificate=paper(*NAMES).pem)
    assert evidence.failure == "tls_error"
    assert evidence.fingerprint == shown.fingerprint, "so that an administrator can compare it"


def test_the_system_trusts_no_stranger(paper: Any, serve: Serve, poll: Poll) -> None:
    assert poll(serve(paper(*NAMES))).failure == "tls_error"


def test_an_expired_certificate_is_a_tls_error(paper: Any, serve: Serve, poll: Poll) -> None:
    old = paper(*NAMES, days=-1)
    evidence = poll(serve(old), tls_certificate=old.pem)
    assert evidence.failure == "tls_error"
    assert "expired" in evidence.detail


def test_a_port_without_tls_is_a_tls_error(poll: Poll, listening: Listen) -> None:
    class Plain(Protocol):
        def connectionMade(self) -> None:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")  # type: ignore[union-attr]

    assert poll(listening(Factory.forProtocol(Plain))).failure == "tls_error"


def test_mutual_tls_shows_our_certificate(paper: Any, authority: Any, serve: Serve, poll: Poll) -> None:
    own, ours = paper(*NAMES), paper("platform", issuer=authority)
    port = serve(own, clients=authority)
    evidence = poll(port, tls_certificate=own.pem, client_certificate=ours.pem, client_key=ours.key_pem)
    assert evidence.owners == ("ada",)


def test_without_our_certificate_an_agent_with_mutual_tls_refuses(
    paper: Any, authority: Any, serve: Serve, poll: Poll
) -> None:
    own, stranger = paper(*NAMES), paper("platform")
    port = serve(own, clients=authority)
    assert poll(port, tls_certificate=own.pem).failure == "tls_error"
    keys = {"client_certificate": stranger.pem, "client_key": stranger.key_pem}
    assert poll(port, tls_certificate=own.pem, **keys).failure == "tls_error"


def test_old_versions_of_tls_are_not_spoken(paper: Any, poll: Poll, listening: Listen) -> None:
    own = paper(*NAMES)
    old = Server(own)
    old.context.set_max_proto_version(SSL.TLS1_1_VERSION)
    assert poll(listening(site(FakeAgent("ada")), tls=old), tls_certificate=own.pem).failure == "tls_error"


def test_the_target_is_never_shown_our_certificate_nor_trusted_by_the_pin(paper: Any, serve: Serve, poll: Poll) -> None:
    own = paper(*NAMES)
    port = serve(own)
    evidence = poll(port, tls_certificate=own.pem, health_gate=True, target_url=f"https://127.0.0.1:{port}/")
    assert evidence.failure == "unhealthy"
    assert "target: the certificate is not trusted" in evidence.detail


def test_papers_that_cannot_be_used_cost_the_tick_and_say_why(paper: Any, serve: Serve, poll: Poll) -> None:
    own, ours, other = paper(*NAMES), paper("platform"), paper("platform")
    keys = {"client_certificate": ours.pem, "client_key": other.key_pem}
    evidence = poll(serve(own), tls_certificate=own.pem, **keys)
    assert evidence.failure == "tls_error"
    assert "can't be used" in evidence.detail
