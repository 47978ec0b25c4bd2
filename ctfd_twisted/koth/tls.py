"""TLS to an agent: who it must be, and who we are."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from OpenSSL import SSL
from OpenSSL.crypto import X509, PKey, X509StoreFlags
from service_identity.hazmat import DNS_ID, IPAddress_ID, ServiceID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.ssl import Certificate, CertificateOptions, TLSVersion, platformTrust, trustRootFromCertificates
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

from ctfd_twisted.koth.pem import certificates_of, key_of

#: ``saw(fingerprint)`` is told the SHA-256 of the certificate that the other side shows, whether it is accepted or not.
Saw = Callable[[str], None]


def tls_context(trusted: str | None, certificate: str | None, key: str | None) -> SSL.Context:
    """A context that trusts the certificates in *trusted* and no other, or the system's authorities.

    *certificate* and *key* are ours for mutual TLS. All are PEM; raises ``ValueError`` for what is none.
    """
    roots = None if trusted is None else certificates_of(trusted)
    ours = [] if certificate is None else [X509.from_cryptography(entry) for entry in certificates_of(certificate)]
    options = CertificateOptions(
        privateKey=None if key is None else PKey.from_cryptography_key(key_of(key)),
        certificate=ours[0] if ours else None,
        extraCertChain=ours[1:] or None,
        trustRoot=(
            platformTrust()
            if roots is None
            else trustRootFromCertificates([Certificate(X509.from_cryptography(root)) for root in roots])
        ),
        raiseMinimumTo=TLSVersion.TLSv1_2,
    )
    context = options.getContext()
    store = context.get_cert_store()
    if roots is not None and store is not None:
        # What was pinned may be the agent's own certificate although an authority that we don't know has signed it.
        store.set_flags(X509StoreFlags.PARTIAL_CHAIN)
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
    def verify(_: SSL.Connection, certificate: X509, _error: int, depth: int, trusted: int) -> bool:
        # OpenSSL asks for each certificate of the chain; the last, at depth 0, is the other side's own.
        if depth != 0:
            return bool(trusted)
        try:
            saw(certificate.digest("sha256").decode())
            if trusted:
                verify_service_identity(extract_patterns(certificate), [expected], [])
        except Exception:  # noqa: BLE001 - OpenSSL would lose it: the wrong host, or a certificate that can't be read
            protocol.failVerification(Failure())
            return False
        return bool(trusted)

    return verify
