"""PEM text to TLS options, and the certificates that `certify` makes."""

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from twisted.internet.ssl import CertificateOptions

from koth_agent.certify import parse_name, self_signed
from koth_agent.errors import StartError
from koth_agent.tls import Pem, server_options

# Twisted 26.10 hands pyOpenSSL its own types of certificate and key, which pyOpenSSL 26 would rather not have.
pytestmark = pytest.mark.filterwarnings("ignore:Passing pyOpenSSL .* objects is deprecated:DeprecationWarning")

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
CERTIFICATE, KEY = self_signed("hill", [x509.DNSName("hill.example")], NOW)
OTHER_CERTIFICATE, OTHER_KEY = self_signed("other", [x509.DNSName("other.example")], NOW)


def key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def options(certificate: bytes, key: bytes, client_ca: bytes | None = None) -> CertificateOptions:
    authority = None if client_ca is None else Pem("client-ca ca", client_ca)
    return server_options(Pem("certfile a", certificate), Pem("keyfile b", key), authority)


def test_a_certificate_and_its_key_are_options() -> None:
    assert options(certificate_pem(CERTIFICATE), key_pem(KEY)).getContext() is not None


def test_text_around_the_certificate_and_a_chain_behind_it_are_fine() -> None:
    text = (
        b"subject=hill\n" + certificate_pem(CERTIFICATE) + b"\n# the authority\n" + certificate_pem(OTHER_CERTIFICATE)
    )
    (link,) = options(text, key_pem(KEY)).extraCertChain
    assert link.to_cryptography() == OTHER_CERTIFICATE


def test_a_key_may_stand_behind_other_blocks() -> None:
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    old_form = KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    both = certificate_pem(CERTIFICATE) + parameters + old_form
    assert options(both, both).getContext() is not None


def test_a_client_authority_makes_client_certificates_a_duty() -> None:
    plain = options(certificate_pem(CERTIFICATE), key_pem(KEY))
    mutual = options(certificate_pem(CERTIFICATE), key_pem(KEY), certificate_pem(OTHER_CERTIFICATE))
    assert (plain.verify, mutual.verify, mutual.requireCertificate) == (False, True, True)


@pytest.mark.parametrize(
    ("certificate", "key", "client_ca", "line"),
    [
        (b"", key_pem(KEY), None, "certfile a: no certificate in PEM form"),
        (key_pem(KEY), key_pem(KEY), None, "certfile a: no certificate in PEM form"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
            key_pem(KEY),
            None,
            "certfile a: not a valid certificate",
        ),
        (certificate_pem(CERTIFICATE), b"", None, "keyfile b: no private key in PEM form"),
        (certificate_pem(CERTIFICATE), certificate_pem(CERTIFICATE), None, "keyfile b: no private key in PEM form"),
        (
            certificate_pem(CERTIFICATE),
            key_pem(OTHER_KEY),
            None,
            "keyfile b: the key does not match the certificate of certfile a",
        ),
        (certificate_pem(CERTIFICATE), key_pem(KEY), b"x", "client-ca ca: no certificate in PEM form"),
        (
            certificate_pem(CERTIFICATE),
            KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")),
            None,
            "keyfile b: the key is protected by a passphrase, which nobody can enter here",
        ),
    ],
)
def test_a_wrong_text_is_an_error_that_names_its_option(
    certificate: bytes, key: bytes, client_ca: bytes | None, line: str
) -> None:
    with pytest.raises(StartError) as caught:
        options(certificate, key, client_ca)
    assert str(caught.value) == line


def signed_by(authority: ec.EllipticCurvePrivateKey, public_key: rsa.RSAPublicKey | x25519.X25519PublicKey) -> bytes:
    """A certificate for a key that can't sign one for itself, or should not."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "odd")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(public_key)
    builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1))
    return certificate_pem(builder.sign(authority, SHA256()))


def test_a_key_that_openssl_calls_too_small_is_refused_at_the_start() -> None:
    small = rsa.generate_private_key(65537, 1024)  # noqa: S505
    with pytest.raises(StartError, match=r"^certfile a: refused by OpenSSL: ee key too small$"):
        options(signed_by(KEY, small.public_key()), key_pem(small))


def test_a_key_that_tls_has_no_use_for_is_refused_at_the_start() -> None:
    odd = x25519.X25519PrivateKey.generate()
    text = odd.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(StartError, match=r"^certfile a: refused by OpenSSL: unknown certificate type$"):
        options(signed_by(KEY, odd.public_key()), text)


def test_a_self_signed_certificate_is_its_own_authority_for_ten_years() -> None:
    assert CERTIFICATE.issuer == CERTIFICATE.subject
    assert CERTIFICATE.not_valid_before_utc < NOW < NOW + timedelta(days=3649) < CERTIFICATE.not_valid_after_utc
    CERTIFICATE.verify_directly_issued_by(CERTIFICATE)
    constraints = CERTIFICATE.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)


def test_a_self_signed_certificate_names_what_it_is_for() -> None:
    names = [
        parse_name(text) for text in ("IP:127.0.0.1", "IP:::1", "DNS:hill.example", "dns:*.hill.example", "ip:10.0.0.1")
    ]
    certificate, _ = self_signed("hill", names, NOW)
    alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternatives.get_values_for_type(x509.DNSName) == ["hill.example", "*.hill.example"]
    assert [str(address) for address in alternatives.get_values_for_type(x509.IPAddress)] == [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hill.example", x509.DNSName("hill.example")),
        ("hill", x509.DNSName("hill")),
        ("10.0.0.1", x509.IPAddress(ipaddress.ip_address("10.0.0.1"))),
        ("2001:db8::1", x509.IPAddress(ipaddress.ip_address("2001:db8::1"))),
        ("DNS:bücher.example", x509.DNSName("xn--bcher-kva.example")),
    ],
)
def test_a_name_is_what_it_looks_like(text: str, name: x509.GeneralName) -> None:
    assert parse_name(text) == name


@pytest.mark.parametrize(
    "text", ["", "IP:", "IP:300.1.1.1", "IP:hill", "DNS:", "DNS:a b", "DNS:a..b", "DNS:-a", "URI:http://x"]
)
def test_a_name_that_nothing_can_have_is_refused(text: str) -> None:
    with pytest.raises(StartError, match=r"^certify: "):
        parse_name(text)
