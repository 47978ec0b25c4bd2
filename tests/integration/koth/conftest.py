"""Real sockets under the real reactor, as the webhooks' tests have them; certificates of a small authority."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.integration.webhooks.conftest import listening, spin, threads

__all__ = ("listening", "spin", "threads")

_numbers = count(1)


class Paper:
    """A certificate with its key; without an *issuer* it has signed itself."""

    def __init__(self, *names: str, issuer: Paper | None = None, authority: bool = False, days: int = 1) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"paper {next(_numbers)}")])
        self.subject = who
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(who if issuer is None else issuer.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=3))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_name(name) for name in names]), critical=False
            )
        self.certificate: x509.Certificate = builder.sign(self.key if issuer is None else issuer.key, SHA256())
        self.pem = self.certificate.public_bytes(Encoding.PEM).decode()
        self.key_pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def fingerprint(self) -> str:
        """As people compare it."""
        return self.certificate.fingerprint(SHA256()).hex(":").upper()


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


@pytest.fixture(scope="session")
def paper() -> Callable[..., Paper]:
    """``paper(*names, issuer=None, authority=False, days=1)``."""

    def make(*names: str, **options: Any) -> Paper:
        return Paper(*names, **options)

    return make
