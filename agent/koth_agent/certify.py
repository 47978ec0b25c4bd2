"""`kothagent certify`: a self-signed certificate for an agent, or for a platform that asks one with mutual TLS."""

import ipaddress
import os
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TextIO

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from koth_agent.errors import StartError

USAGE = """\
Usage: kothagent certify NAME [IP:ADDRESS DNS:NAME ...]

Writes NAME.crt and NAME.key, a self-signed certificate and its key, and prints the fingerprint to pin.
The certificate is good for the addresses and names that follow; for NAME itself if there are none.
"""
VALIDITY = timedelta(days=3650)
SKEW = timedelta(hours=1)  # the other side's clock may be behind
FILE_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{,63}", re.IGNORECASE)  # a common name holds 64 characters
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)


def certify(arguments: Sequence[str], folder: Path, now: datetime, out: TextIO) -> None:
    """Do what ``kothagent certify`` with *arguments* does, in *folder*. Raises ``StartError``."""
    if not arguments or arguments[0] in {"-h", "-help", "--help"}:
        out.write(USAGE)
        return
    name, *alternatives = arguments
    if not FILE_NAME.fullmatch(name):
        raise StartError(f"certify: {name!r} can't be a name: letters, digits and ._- make one, 64 at most")
    names = [parse_name(text) for text in alternatives or [name]]
    certificate, key = self_signed(name, names, now)
    certificate_path, key_path = folder / f"{name}.crt", folder / f"{name}.key"
    _write_new(certificate_path, certificate.public_bytes(Encoding.PEM), mode=0o644)
    try:
        _write_new(key_path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600)
    except StartError:
        certificate_path.unlink()
        raise
    out.write(f"Certificate: {certificate_path.name}\nKey: {key_path.name}\n")
    out.write(f"SHA-256 fingerprint: {certificate.fingerprint(hashes.SHA256()).hex(':').upper()}\n")


def parse_name(text: str) -> x509.GeneralName:
    """One subject alternative name, as ``IP:…``, ``DNS:…``, or bare, which is read as what it looks like."""
    kind, colon, value = text.partition(":")
    if colon and kind.upper() == "DNS":
        return _dns_name(text, value)
    is_address = bool(colon) and kind.upper() == "IP"
    try:
        return x509.IPAddress(ipaddress.ip_address(value if is_address else text))
    except ValueError as error:
        if is_address:
            raise StartError(f"certify: {text!r} is not an address") from error
        return _dns_name(text, text)


def self_signed(
    name: str, names: Sequence[x509.GeneralName], now: datetime
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate for *names* from *now* on (aware), and its key.

    It is its own authority, so that a client can take it both as the certificate to expect and as a CA.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_usage(), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _dns_name(text: str, value: str) -> x509.DNSName:
    try:
        ascii_name = value.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise StartError(f"certify: {text!r} is not a host name") from error
    if not all(LABEL.fullmatch(label) for label in ascii_name.removeprefix("*.").split(".")):
        raise StartError(f"certify: {text!r} is not a host name")
    return x509.DNSName(ascii_name)


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    """Write a new file; one that is there may be in use, and is not replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise StartError(f"certify: {path.name}: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
