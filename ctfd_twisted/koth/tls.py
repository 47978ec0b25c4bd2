"""TLS to an agent: who it must be, and who we are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final

from OpenSSL import SSL
from OpenSSL.crypto import X509, X509StoreFlags
from service_identity.hazmat import DNS_ID, IPAddress_ID, ServiceID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ctfd_twisted.koth.pem import certificates_of, key_of
from ctfd_twisted.koth.trouble import Untrusted

#: What OpenSSL's numbers for the common reasons mean (X509_V_ERR_…).
_REASONS: Final[Mapping[int, str]] = {
    9: "it is not valid yet",
    10: "it has expired",
    18: "it has signed itself, and it is not the expected one",
    19: "the chain ends in an authority that is not trusted",
    20: "its issuer is not known",
    21: "its issuer is not known",
    24: "it is signed by what is no authority",
    26: "it is not meant for servers",
}

#: ``saw(fingerprint)`` is told the SHA-256 of the certificate that the other side shows, whether it is accepted or not.
Saw = Callable[[str], None]


def tls_context(trusted: str | None, certificate: str | None, key: str | None) -> SSL.Context:
    """A context that trusts the certificates in *trusted* and no other, or the system's authorities.

    *certificate* and *key* are ours for mutual TLS. All are PEM; raises ``ValueError`` for what is none.
    """
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    if trusted is None:
        context.set_default_verify_paths()
    else:
        store = context.get_cert_store()
        assert store is not None  # noqa: S101 - a context that was just made has one
        for root in certificates_of(trusted):
            store.add_cert(X509.from_cryptography(root))
        # What was pinned may be the agent's own certificate although an authority that we don't know has signed it.
        store.set_flags(X509StoreFlags.PARTIAL_CHAIN)
    if certificate is not None and key is not None:
        own, *chain = certificates_of(certificate)
        context.use_certificate(own)
        for link in chain:
            context.add_extra_chain_cert(link)
        context.use_privatekey(key_of(key))
        context.check_privatekey()
    return context


@implementer(IOpenSSLClientConnectionCreator)
class Expecting:
    """Makes connections that end unless the other side proves to be *host*, a name or an address."""

    def __init__(self, context: SSL.Context, host: str, saw: Saw) -> None:
        self._context = context
        self._host = host
        self._saw = saw

    def clientConnectionForTLS(self, tlsProtocol: TLSMemoryBIOProtocol) -> SSL.Connection:  # noqa: N802, N803 - Twisted's names
        """One connection, verified during its handshake."""
        connection = SSL.Connection(self._context, None)
        expected: ServiceID
        try:
            expected = IPAddress_ID(str(ip_address(self._host)))
        except ValueError:
            expected = DNS_ID(self._host)
            connection.set_tlsext_host_name(self._host.encode("ascii"))
        demand = SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT
        connection.set_verify(demand, _verifier(tlsProtocol, expected, self._saw))
        return connection


def _verifier(
    protocol: TLSMemoryBIOProtocol, expected: ServiceID, saw: Saw
) -> Callable[[SSL.Connection, X509, int, int, int], bool]:
    def verify(_: SSL.Connection, certificate: X509, error: int, depth: int, trusted: int) -> bool:
        # OpenSSL asks for each certificate of the chain; the last, at depth 0, is the other side's own.
        try:
            if depth == 0:
                saw(certificate.digest("sha256").decode())
            _demand_trust(error, trusted=bool(trusted))
            if depth == 0:
                verify_service_identity(extract_patterns(certificate), [expected], [])
        except Exception:  # noqa: BLE001 - OpenSSL would lose it: not trusted, the wrong host, or not to be read
            protocol.failVerification(Failure())
            return False
        return True

    return verify


def _demand_trust(error: int, *, trusted: bool) -> None:
    if not trusted:
        reason = _REASONS.get(error, f"OpenSSL's error {error}")
        raise Untrusted(f"the certificate is not trusted: {reason}")
