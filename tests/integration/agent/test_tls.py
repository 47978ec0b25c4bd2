"""TLS and mutual TLS with certificates from `kothagent certify`."""

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Ended, Run, Start

ALICE = b'{"success":true,"data":{"identifier":"alice"}}'


@pytest.fixture(scope="module")
def certify(run: "Run") -> "Run":
    """``certify(folder, *arguments)``"""

    def make(folder: Path, *arguments: str) -> "Ended":
        return run("kothagent", "certify", *arguments, folder=folder)

    return make


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory, certify: "Run") -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    assert certify(folder, "hill", "IP:127.0.0.1", "DNS:hill.example").returncode == 0
    assert certify(folder, "platform").returncode == 0
    return folder


@pytest.fixture(autouse=True)
def owner_file(tmp_path: Path) -> None:
    (tmp_path / "owner.txt").write_text("alice")


def trusting(folder: Path, name: str = "hill", client: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / f"{name}.crt")
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of newer Pythons
    if client is not None:
        context.load_cert_chain(folder / f"{client}.crt", folder / f"{client}.key")
    return context


def test_certify_writes_a_certificate_and_a_private_key_and_prints_the_fingerprint(
    certify: "Run", tmp_path: Path
) -> None:
    ended = certify(tmp_path, "hill", "IP:10.0.0.1", "DNS:hill.example")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "hill.key").stat().st_mode & 0o777 == 0o600
    certificate = x509.load_pem_x509_certificate((tmp_path / "hill.crt").read_bytes())
    pin = certificate.fingerprint(SHA256()).hex(":").upper()
    assert ended.stdout == f"Certificate: hill.crt\nKey: hill.key\nSHA-256 fingerprint: {pin}\n"
    names: Any = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["10.0.0.1", "hill.example"]


@pytest.mark.parametrize("there", ["hill.crt", "hill.key"])
def test_certify_overwrites_nothing_and_leaves_no_half(certify: "Run", tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("precious")
    ended = certify(tmp_path, "hill")
    assert (ended.returncode, ended.stderr) == (1, f"kothagent: certify: {there}: File exists\n")
    assert [path.name for path in tmp_path.glob("hill.*")] == [there]
    assert (tmp_path / there).read_text() == "precious"


@pytest.mark.parametrize("arguments", [["../hill"], [".hill"], ["-hill"], ["x" * 65], [""], ["hill", "IP:hill"]])
def test_certify_refuses_names_in_one_line(certify: "Run", tmp_path: Path, arguments: list[str]) -> None:
    ended = certify(tmp_path, *arguments)
    assert (ended.returncode, len(ended.stderr.splitlines()), ended.stdout) == (1, 1, "")
    assert not list(tmp_path.glob("*hill*"))


def test_certify_alone_says_how_it_is_used(certify: "Run", tmp_path: Path) -> None:
    ended = certify(tmp_path)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (
        0,
        "Usage: kothagent certify NAME [IP:ADDRESS DNS:NAME ...]",
    )


def test_tls_with_certificates_from_files(start: "Start", certificates: Path, command: list[str]) -> None:
    agent = start("-certfile", f"{certificates}/hill.crt", "-keyfile", f"{certificates}/hill.key", command=command)
    assert agent.lines[1] == "Running with encryption certificates from filesystem"
    assert agent.ask("/status", tls=trusting(certificates)).body == ALICE
    with pytest.raises(ssl.SSLCertVerificationError):
        agent.ask("/status", tls=trusting(certificates, "platform"))
    with pytest.raises(OSError, match=r".*"):
        agent.ask("/status")


def test_tls_with_certificates_from_the_command_line(start: "Start", certificates: Path, command: list[str]) -> None:
    certificate, key = (certificates / "hill.crt").read_text(), (certificates / "hill.key").read_text()
    agent = start("-certstring", certificate, f"-keystring={key}", "-apikey", "K", command=command)
    assert agent.lines[1] == "Running with pinned encryption certificates"
    assert agent.ask("/status", tls=trusting(certificates)).status == 401
    assert agent.ask("/status", tls=trusting(certificates), Authorization="K").body == ALICE


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_tls_is_not_spoken(start: "Start", certificates: Path) -> None:
    agent = start("-certfile", f"{certificates}/hill.crt", "-keyfile", f"{certificates}/hill.key")
    context = trusting(certificates)
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION"):
        agent.ask("/status", tls=context)


def test_mutual_tls_answers_only_those_with_a_certificate(start: "Start", certificates: Path) -> None:
    agent = start(
        *("-certfile", f"{certificates}/hill.crt", "-keyfile", f"{certificates}/hill.key"),
        *("-client-ca", f"{certificates}/platform.crt"),
    )
    assert agent.ask("/status", tls=trusting(certificates, client="platform")).body == ALICE
    for stranger in (None, "hill"):
        with pytest.raises(OSError, match=r".*"):
            agent.ask("/status", tls=trusting(certificates, client=stranger))
    assert agent.ask("/status", tls=trusting(certificates, client="platform")).body == ALICE
    agent.stop()
    assert "Traceback" not in agent.errors.read_text()


def test_tls_that_can_t_be_had_is_one_line(refusal: Any, certificates: Path, command: list[str]) -> None:
    hill = f"{certificates}/hill"
    assert refusal("-certfile", f"{hill}.crt", command=command) == "kothagent: certfile is given without keyfile"
    assert refusal("-certfile", "none", "-keyfile", f"{hill}.key", command=command) == (
        "kothagent: certfile none: No such file or directory"
    )
    assert refusal("-certfile", f"{hill}.crt", "-keyfile", f"{certificates}/platform.key", command=command) == (
        f"kothagent: keyfile {certificates}/platform.key: the key does not match the certificate of certfile {hill}.crt"
    )
    assert refusal("-certfile", f"{hill}.crt", "-keyfile", f"{hill}.crt") == (
        f"kothagent: keyfile {hill}.crt: no private key in PEM form"
    )
    assert refusal("-certfile", f"{hill}.crt", "-keyfile", f"{hill}.key", "-client-ca", "none") == (
        "kothagent: client-ca none: No such file or directory"
    )
