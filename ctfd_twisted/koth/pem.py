"""Certificates and keys as administrators paste them."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificates

from ctfd_twisted.errors import Invalid
from ctfd_twisted.koth.settings import HillSettings

#: The kinds of keys that TLS can do something with.
Key = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey


def certificates_of(text: str) -> list[Certificate]:
    """The certificates in PEM *text*, at least one; raises ``ValueError`` with the reason."""
    try:
        return load_pem_x509_certificates(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("Not a certificate in PEM form.") from None


def key_of(text: str) -> Key:
    """The unencrypted private key in PEM *text*; raises ``ValueError`` with the reason."""
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except TypeError:
        raise ValueError("The key must not be encrypted with a password.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("Not a private key in PEM form.") from None
    if not isinstance(key, Key):
        raise ValueError("TLS can't use a key of this kind.")  # noqa: TRY004 - the message of a field, not a defect
    return key


def check_pem(name: str, text: str) -> None:
    """Raise ``ValueError`` where *text* is nothing that the setting *name* may hold."""
    if name == "client_key":
        key_of(text)
    else:
        certificates_of(text)


def check_pair(settings: HillSettings) -> None:
    """Raise ``Invalid`` where the client's key is not that of its certificate."""
    if settings.client_certificate is None or settings.client_key is None:
        return
    certificate, key = certificates_of(settings.client_certificate)[0], key_of(settings.client_key)
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if certificate.public_key().public_bytes(*form) != key.public_key().public_bytes(*form):
        raise Invalid(client_key=["This is not the key of the client certificate."])
