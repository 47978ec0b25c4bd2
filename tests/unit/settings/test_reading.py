"""Claims about the sources of settings: which one wins, and how a wrong value is reported."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from ctfd_twisted.settings import MailServer, OAuthServer, PresetAdmin, Settings, SettingsError
from ctfd_twisted.settings.reading import read_configuration
from ctfd_twisted.settings.table import OPTIONS
from ctfd_twisted.settings.values import PRIVATE_NETWORKS

Given = dict[str, str | list[str]]


def settings(command_line: Given | None = None, /, **environ: str) -> Settings:
    return read_configuration(command_line or {}, environ, create=False).settings


def refusal(command_line: Given | None = None, /, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(command_line, **environ)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "ctf.toml"


def test_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings() == Settings(
        listen=("tcp:8000:interface=127.0.0.1",),
        database=f"sqlite:///{tmp_path}/var/ctfplatform.sqlite",
        data_dir=tmp_path / "var",
        uploads=tmp_path / "var" / "uploads",
        upload_limit=1 << 30,
        public_url=None,
        trusted_proxies=(),
        roles=frozenset({"web", "koth", "webhooks", "mail"}),
        malformed_payload_status=500,
        webhook_header_prefix="Service-Webhook",
        application_root="",
        trusted_hosts=(),
        secret_key=b"",
        preset_admin=None,
        password_rounds=10,
        confirmation_button=False,
        server_sent_events=True,
        mail=None,
    )
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(toml: Path) -> None:
    toml.write_text("password_rounds = 4\nroles = ['web', 'koth']\ntrusted-hosts = '.example.org, ctf.org'\n")
    configuration = read_configuration(
        {"config": str(toml), "password-rounds": "6"},
        {"CTFPLATFORM_PASSWORD_ROUNDS": "5", "CTFPLATFORM_ROLES": "mail"},
        create=False,
    )
    assert configuration.settings.password_rounds == 6
    assert configuration.settings.roles == {"mail"}
    assert configuration.settings.trusted_hosts == (".example.org", "ctf.org")
    origins = configuration.origins
    assert origins["password-rounds"] == "command line"
    assert origins["roles"] == "CTFPLATFORM_ROLES"
    assert origins["trusted-hosts"] == str(toml)
    assert origins["listen"] == "default"
    assert set(origins) == {option.name for option in OPTIONS}


def test_the_file_may_be_named_by_the_environment(toml: Path) -> None:
    toml.write_text("malformed_payload_status = 400\n")
    assert settings(CTFPLATFORM_CONFIG=str(toml)).malformed_payload_status == 400


def test_listeners_are_repeated_on_the_command_line_and_separated_by_spaces_elsewhere() -> None:
    both = ("tcp:1", "tcp:2:interface=\\:\\:1")
    assert settings({"listen": list(both)}).listen == both
    assert settings(CTFPLATFORM_LISTEN=" ".join(both)).listen == both


def test_an_empty_variable_is_not_set() -> None:
    assert settings(CTFPLATFORM_DATABASE="", DATABASE_URL="sqlite:////a.sqlite").database == "sqlite:////a.sqlite"


def test_our_own_variables_win_over_ctfds() -> None:
    names = {"CTFPLATFORM_APPLICATION_ROOT": "/ours", "APPLICATION_ROOT": "/theirs"}
    assert settings(**names).application_root == "/ours"


def test_ctfds_environment_is_understood() -> None:
    found = settings(
        DATABASE_URL="postgres://ctfd:pw@db/ctfd",
        SECRET_KEY="schlüssel",
        REVERSE_PROXY="true",
        TRUSTED_HOSTS="ctf.example.org,.example.com",
        APPLICATION_ROOT="/ctf",
        STATE_DIRECTORY="/var/lib/ctf:/var/lib/other",
        MAIL_SERVER="smtp.example.org",
        MAIL_PORT="2525",
        MAIL_USERNAME="ctf",
        MAIL_PASSWORD="pw",
        MAIL_TLS="true",
        MAILFROM_ADDR="ctf@example.org",
        PRESET_ADMIN_NAME="root",
        PRESET_ADMIN_EMAIL="root@example.org",
        PRESET_ADMIN_PASSWORD="pw",
        PRESET_ADMIN_TOKEN="ctfd_1",
        OAUTH_CLIENT_ID="platform",
        OAUTH_CLIENT_SECRET="pw",
        OAUTH_API_ENDPOINT="http://127.0.0.1:9/user",
    )
    assert found.database == "postgresql+psycopg://ctfd:pw@db/ctfd"
    assert found.secret_key == "schlüssel".encode()
    assert found.trusted_proxies == PRIVATE_NETWORKS
    assert found.trusted_hosts == ("ctf.example.org", ".example.com")
    assert found.application_root == "/ctf"
    assert found.data_dir == Path("/var/lib/ctf")
    assert found.mail == MailServer("smtp.example.org", 2525, "ctf@example.org", "ctf", "pw", tls=True)
    assert found.preset_admin == PresetAdmin("root", "root@example.org", "pw", "ctfd_1")
    assert found.oauth == OAuthServer("platform", "pw", api_endpoint="http://127.0.0.1:9/user")


@pytest.mark.parametrize(("encryption", "port"), [({}, 25), ({"MAIL_TLS": "true"}, 587), ({"MAIL_SSL": "1"}, 465)])
def test_a_mail_server_without_a_port_has_that_of_its_encryption(encryption: dict[str, str], port: int) -> None:
    mail = settings(MAIL_SERVER="smtp.example.org", **encryption).mail
    assert mail is not None
    assert (mail.port, mail.from_address) == (port, "noreply@examplectf.com")


def test_nobody_sees_secrets_in_a_repr() -> None:
    names = {"PRESET_ADMIN_NAME": "a", "PRESET_ADMIN_EMAIL": "b", "PRESET_ADMIN_PASSWORD": "geheim"}
    mail = {"MAIL_SERVER": "h", "MAIL_USERNAME": "u", "MAIL_PASSWORD": "geheim"}
    oauth = {"OAUTH_CLIENT_ID": "platform", "OAUTH_CLIENT_SECRET": "geheim"}
    found = settings(DATABASE_URL="postgresql://u:geheim@h/d", SECRET_KEY="geheim", **names, **mail, **oauth)
    assert "geheim" not in f"{found!r} {found.mail!r} {found.preset_admin!r} {found.oauth!r}"


def test_on_start_the_data_directory_and_the_key_are_made(tmp_path: Path) -> None:
    given: Given = {"data-dir": str(tmp_path / "new" / "var")}
    first = read_configuration(given, {}, create=True).settings
    assert len(first.secret_key) == 64
    assert (tmp_path / "new" / "var").stat().st_mode & 0o777 == 0o700
    assert read_configuration(given, {}, create=False).settings.secret_key == first.secret_key


def test_nothing_is_made_when_something_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--password-rounds"):
        read_configuration({"data-dir": str(tmp_path / "var"), "password-rounds": "x"}, {}, create=True)
    assert list(tmp_path.iterdir()) == []


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"^--data-dir: expected a directory that can be made \(Not a directory\)"):
        read_configuration({"data-dir": str(tmp_path / "file" / "var")}, {}, create=True)


def test_a_preset_admin_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "admin.toml"
    file.write_text("name = 'root'\nemail = 'root@example.org'\npassword = 'pw'\n")
    assert settings({"preset-admin-file": str(file)}).preset_admin == PresetAdmin("root", "root@example.org", "pw")
    file.write_text("name = 'root'\n")
    assert refusal({"preset-admin-file": str(file)}).startswith("--preset-admin-file: expected a TOML file with name")


def test_a_line_names_the_option_the_value_what_is_expected_and_who_said_so(toml: Path) -> None:
    assert refusal({"trusted-proxies": "10.0.0.0/8,10.0.0.0/99"}) == (
        "--trusted-proxies: expected addresses or CIDR ranges, such as 10.0.0.0/8, separated by commas; "
        "found '10.0.0.0/99' (command line)"
    )
    assert refusal(CTFPLATFORM_ROLES="web,cook") == (
        "--roles: expected one or more of web, koth, webhooks, mail, separated by commas; "
        "found 'cook' (CTFPLATFORM_ROLES)"
    )
    toml.write_text("password_rounds = 99")
    assert refusal({"config": str(toml)}) == (
        f"--password-rounds: expected a whole number from 4 to 16; found '99' ({toml})"
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("lisen = 'tcp:1'", r"--config: expected only the names of options as keys; found 'lisen'"),
        ("[server]\nlisten = 'tcp:1'", r"found 'server'"),
        ("config = 'other.toml'", r"found 'config'"),
        ("data-dir = 'a'\ndata_dir = 'b'", r"--config: expected each option in one spelling only; found 'data_dir'"),
        ("listen = [", r"--config: expected a TOML file"),
        ("listen = []", r"--listen: expected a list of at least 1"),
        ("listen = [true]", r"--listen: expected a string, a whole number or a list of them; found 'True'"),
        ("trusted_hosts = 1.5", r"--trusted-hosts: expected a string"),
        ("database = ['sqlite:///a', 'sqlite:///b']", r"--database: expected one value, not a list"),
        ("roles = ''", r"--roles: expected a list of at least 1"),
    ],
)
def test_a_wrong_file_is_reported(toml: Path, text: str, named: str) -> None:
    toml.write_text(text)
    line = refusal({"config": str(toml)})
    assert named in line
    assert str(toml) in line


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    assert "(No such file or directory)" in refusal({"config": "/nowhere.toml"})
    assert "(Is a directory)" in refusal({"config": str(tmp_path)})
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert refusal({"config": str(tmp_path / "bytes")}).startswith("--config: expected a TOML file")
    (tmp_path / "empty").touch()
    assert "not empty" in refusal({"secret-key-file": str(tmp_path / "empty")})


def test_a_database_password_is_not_repeated() -> None:
    assert "geheim" not in refusal(DATABASE_URL="mysql://ctfd:geheim@db/ctfd")


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"PRESET_ADMIN_NAME": "root"}, "PRESET_ADMIN_EMAIL, PRESET_ADMIN_PASSWORD is not set"),
        ({"MAIL_SERVER": "h", "MAIL_PORT": "smtp"}, "MAIL_PORT: expected a port"),
        ({"OAUTH_TOKEN_ENDPOINT": "ftp://h"}, "OAUTH_TOKEN_ENDPOINT: expected a URL of scheme http or https"),
        ({"MAIL_SERVER": "h", "MAIL_SSL": "maybe"}, "MAIL_TLS and MAIL_SSL: expected true or false"),
        ({"REVERSE_PROXY": "perhaps"}, "found 'perhaps' (REVERSE_PROXY)"),
    ],
)
def test_wrong_variables_of_ctfd_are_reported(environ: dict[str, str], named: str) -> None:
    assert named in refusal(**environ)


def test_one_address_is_a_network_of_one() -> None:
    assert settings({"trusted-proxies": " 10.0.0.1 , ::1 "}).trusted_proxies == (
        ip_network("10.0.0.1/32"),
        ip_network("::1/128"),
    )
