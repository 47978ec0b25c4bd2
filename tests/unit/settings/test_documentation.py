"""Claims about what is written of the settings: the example and the manual name every option and every variable."""

import re
import tomllib
from pathlib import Path

import pytest

from ctfd_twisted.settings import Settings
from ctfd_twisted.settings.reading import read_configuration
from ctfd_twisted.settings.table import CONFIG, MAIL, OAUTH, OPTIONS, PRESET_ADMIN

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "etc" / "ctf.example.toml").read_text()
MANUAL = (ROOT / "docs" / "operations.md").read_text()
OPTION_LINES = re.findall(r"^#([a-z_]+ = .+)$", EXAMPLE, re.MULTILINE)


def settings(toml: Path) -> Settings:
    return read_configuration({"config": str(toml)}, {}, create=False).settings


def test_the_example_explains_every_option_and_variable() -> None:
    assert [line.split(" = ")[0] for line in OPTION_LINES] == [option.key for option in OPTIONS]
    for option in OPTIONS:
        for name in option.environment:
            assert name in EXAMPLE, name


def test_the_example_changes_nothing_as_it_is(tmp_path: Path) -> None:
    assert tomllib.loads(EXAMPLE) == {}
    (tmp_path / "none.toml").touch()
    assert settings(ROOT / "etc" / "ctf.example.toml") == settings(tmp_path / "none.toml")


#: Where the example shows something else than the default, as the default is to have none.
SHOWN = {"public_url", "trusted_proxies", "trusted_hosts", "preset_admin_file", "metrics"}


def test_the_example_shows_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "ctf.toml"
    file.write_text("\n".join(line for line in OPTION_LINES if line.split(" = ")[0] not in SHOWN))
    (tmp_path / "none.toml").touch()
    assert settings(file) == settings(tmp_path / "none.toml")


def test_what_the_example_shows_beside_defaults_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "ctf.toml"
    file.write_text("\n".join(line for line in OPTION_LINES if "preset_admin_file" not in line))
    found = settings(file)
    assert found.public_url == "https://ctf.example.org"
    assert found.trusted_hosts == ("ctf.example.org",)
    assert found.metrics == "tcp:9464:interface=127.0.0.1"
    assert len(found.trusted_proxies) == 2


def test_the_manual_names_every_option_and_variable() -> None:
    for option in (CONFIG, *OPTIONS):
        assert f"`--{option.name}" in MANUAL, option.name
        for name in option.environment:
            assert f"`{name}" in MANUAL, name
    for name in (*MAIL, *OAUTH, *PRESET_ADMIN):
        assert f"`{name}`" in MANUAL, name


def test_the_unit_starts_the_platform_with_options_that_exist() -> None:
    unit = (ROOT / "etc" / "ctfd-platform.service").read_text().replace("\\\n", " ")
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    _, given = command.split(" ctfplatform ")
    assert re.findall(r"--([\w-]+)", given) == ["config", "listen", "secret-key-file"]
    assert {"config", "listen", "secret-key-file"} <= {option.name for option in (CONFIG, *OPTIONS)}
    # Both have to speak of the same socket.
    assert "systemd:domain=INET:name=web" in given
    assert "FileDescriptorName=web" in (ROOT / "etc" / "ctfd-platform.socket").read_text()
