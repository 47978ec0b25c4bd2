"""Claims about the command line of ``twistd ctfplatform``."""

from pathlib import Path

import pytest

from ctfd_twisted import __version__
from ctfd_twisted.settings.options import Options
from ctfd_twisted.settings.table import CONFIG, OPTIONS


def parse(*arguments: str) -> Options:
    options = Options()
    options.parseOptions(list(arguments))
    return options


def test_every_option_of_the_table_is_on_the_command_line() -> None:
    usage = Options().getUsage()
    for option in (CONFIG, *OPTIONS):
        assert f"--{option.name}=" in usage


def test_what_is_given_ends_up_in_the_settings(tmp_path: Path) -> None:
    found = parse("--data-dir", str(tmp_path), "--listen=tcp:1", "--listen", "tcp:2", "--password-rounds=4").settings
    assert found.listen == ("tcp:1", "tcp:2")
    assert found.data_dir == tmp_path
    assert found.password_rounds == 4
    assert found.secret_key == (tmp_path / "secret_key").read_bytes()


@pytest.mark.parametrize("wrong", [["--nonsense"], ["extra"], ["--listen"], ["--listen", "tcp:x"]])
def test_anything_wrong_is_one_line_and_status_1(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(*wrong)
    # An exit whose code is a text prints it on standard error and has status 1.
    assert str(ended.value.code).startswith("twistd ctfplatform: ")
    assert "\n" not in str(ended.value.code)


def test_the_version_is_the_platforms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse("--version")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"ctfd-twisted {__version__}\n"
