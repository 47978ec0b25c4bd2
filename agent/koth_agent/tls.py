"""Turning PEM text into what Twisted serves TLS with. A wrong text is a ``StartError`` that names its option."""

import re
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from OpenSSL import SSL
from twisted.internet.ssl import Certificate, CertificateOptions, KeyPair, TLSVersion, trustRootFromCertificates

from koth_agent.errors import StartError

# Each block by itself: before an EC key there are often parameters, and one file may hold certificate and key.
CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
PRIVATE_KEY = re.compile(rb"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.+?-----END \1PRIVATE KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Pem:
    """PEM text, and the option it came with, for the error message."""

    option: str
    text: bytes


def server_options(certificate: Pem, key: Pem, client_ca: Pem | None) -> CertificateOptions:
    """A server's TLS options: 1.2 or newer, with the whole chain, asking for client certificates if *client_ca*."""
    leaf, *chain = _certificates(certificate)
    private_key = _private_key(key)
    if _public(private_key.public_key()) != _public(leaf.public_key()):
        raise StartError(f"{key.option}: the key does not match the certificate of {certificate.option}")
    trust = None
    if client_ca is not None:
        trust = trustRootFromCertificates([_twisted(authority) for authority in _certificates(client_ca)])
    try:
        options = CertificateOptions(
            privateKey=KeyPair.load(
                private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
            ).original,
            certificate=_twisted(leaf).original,
            extraCertChain=[_twisted(link).original for link in chain],
            trustRoot=trust,
            raiseMinimumTo=TLSVersion.TLSv1_2,
        )
        options.getContext()  # OpenSSL has the last word, and says it now rather than at the first connection
    except SSL.Error as error:
        raise StartError(f"{certificate.option}: refused by OpenSSL: {_reason(error)}") from error
    return options


def _certificates(pem: Pem) -> list[x509.Certificate]:
    found = [match.group() for match in CERTIFICATE.finditer(pem.text)]
    if not found:
        raise StartError(f"{pem.option}: no certificate in PEM form")
    try:
        return [x509.load_pem_x509_certificate(text) for text in found]
    except ValueError as error:
        raise StartError(f"{pem.option}: not a valid certificate") from error


def _private_key(pem: Pem) -> PrivateKeyTypes:
    found = PRIVATE_KEY.search(pem.text)
    try:
        return load_pem_private_key(found.group() if found else b"", password=None)
    except TypeError as error:
        raise StartError(f"{pem.option}: the key is protected by a passphrase, which nobody can enter here") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise StartError(f"{pem.option}: no private key in PEM form") from error


def _public(key: PublicKeyTypes) -> bytes:
    """The public key in one form, for comparison."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _reason(error: SSL.Error) -> str:
    """What OpenSSL says, out of its list of (library, function, reason)."""
    reasons = error.args[0] if error.args else []
    return ", ".join(str(entry[-1]) for entry in reasons) or "no reason given"


def _twisted_key(key: PrivateKeyTypes) -> KeyPair:
    loaded: KeyPair = KeyPair.load(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    return loaded


def _twisted(certificate: x509.Certificate) -> Certificate:
    """*certificate* as Twisted's own type; it has no other way in than DER or PEM."""
    loaded: Certificate = Certificate.load(certificate.public_bytes(Encoding.DER))
    return loaded
