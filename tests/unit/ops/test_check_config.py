"""Claims about the report of the effective configuration."""

from pathlib import Path

from ctfd_twisted.ops.check_config import report
from ctfd_twisted.settings.reading import read_configuration
from ctfd_twisted.settings.sources import Given
from ctfd_twisted.settings.table import OPTIONS


def lines(command_line: Given, **environ: str) -> list[str]:
    return list(report(read_configuration(command_line, environ, create=False), environ))


def row(shown: list[str], name: str) -> list[str]:
    """The value and the origin of *name*, without the blanks that align them."""
    (line,) = [line for line in shown if line.startswith(f"{name}  ")]
    value, _, origin = line.removeprefix(name).strip().rpartition("  (")
    return [value.rstrip(), origin.removesuffix(")")]


def test_every_option_has_a_line_with_its_value_and_origin(tmp_path: Path) -> None:
    shown = lines({"data-dir": str(tmp_path), "listen": ["tcp:1", "tcp:2"]}, CTFPLATFORM_ROLES="mail,web")
    for option in OPTIONS:
        assert row(shown, option.name)
    assert row(shown, "listen") == ["tcp:1 tcp:2", "command line"]
    assert row(shown, "roles") == ["web,mail", "CTFPLATFORM_ROLES"]
    assert row(shown, "application-root") == ["/", "default"]
    assert row(shown, "secret-key-file") == [f"{tmp_path}/secret_key, made on the first start", "default"]
    assert row(shown, "database") == [f"sqlite:///{tmp_path}/ctfplatform.sqlite", "default"]


def test_a_key_that_is_there_is_named_by_its_file_only(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_bytes(b"geheim")
    shown = lines({"data-dir": str(tmp_path)})
    assert row(shown, "secret-key-file") == [f"{tmp_path}/secret_key", "default"]


def test_secrets_are_masked() -> None:
    shown = lines(
        {},
        SECRET_KEY="geheim",
        DATABASE_URL="postgresql://ctf:geheim@db/ctf",
        PRESET_ADMIN_NAME="root",
        PRESET_ADMIN_EMAIL="root@example.org",
        PRESET_ADMIN_PASSWORD="geheim",
        PRESET_ADMIN_TOKEN="geheim",
        MAIL_SERVER="smtp.example.org",
        MAIL_USERNAME="ctf",
        MAIL_PASSWORD="geheim",
        MAIL_TLS="true",
        OAUTH_CLIENT_ID="platform",
        OAUTH_CLIENT_SECRET="geheim",
        OAUTH_TOKEN_ENDPOINT="https://auth.example.org/token",
    )
    assert "geheim" not in "\n".join(shown)
    assert row(shown, "secret-key-file") == ["********", "SECRET_KEY"]
    assert row(shown, "database") == ["postgresql+psycopg://ctf:***@db/ctf", "DATABASE_URL"]
    assert row(shown, "preset-admin-file")[0] == "root <root@example.org>, password ********, token ********"
    assert row(shown, "mail server") == [
        "smtp.example.org:587, STARTTLS, user ctf, password ********, from noreply@examplectf.com",
        "environment",
    ]
    assert row(shown, "MajorLeagueCyber") == [
        "client platform, secret ********, https://auth.example.org/token",
        "environment",
    ]


def test_what_means_nothing_here_is_listed() -> None:
    shown = lines({}, REDIS_URL="redis://", UPLOAD_FOLDER="", SAFE_MODE="true", CTFPLATFORM_LISTNE="tcp:1", HOME="/")
    assert "Set for CTFd, without a meaning here: REDIS_URL, SAFE_MODE" in shown
    assert "Unknown variables: CTFPLATFORM_LISTNE" in shown
