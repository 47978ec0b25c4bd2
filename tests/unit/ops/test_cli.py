"""Claims about the command ``ctfplatform``: what it prints, where, and with which status it ends."""

import getpass
import io
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select

from ctfd_twisted.accounts.passwords import verify
from ctfd_twisted.accounts.tables import tokens, users
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.ops.cli import main
from ctfd_twisted.testing.builders import a_user


class Shell:
    """Runs commands over an SQLite file in a folder of their own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.database = f"sqlite:///{folder}/ctf.sqlite"
        self._folder = folder
        self._capsys = capsys

    def run(self, command: str, *arguments: str) -> tuple[int, str, str]:
        """The exit status, standard output and standard error."""
        place = ("--data-dir", str(self._folder), "--database", self.database)
        try:
            status = main([command, *arguments, *place])
        except SystemExit as ended:
            status = int(ended.code or 0)
        return (status, *self._capsys.readouterr())


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("DATABASE_URL", "SECRET_KEY", "CTFPLATFORM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, capsys)


def refused(outcome: tuple[int, str, str]) -> str:
    status, out, err = outcome
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    return err


def test_migrate_says_what_it_did(shell: Shell) -> None:
    status, out, err = shell.run("migrate")
    assert (status, err) == (0, "")
    assert out.startswith("Created the schema")
    assert "already" in shell.run("migrate")[1]


def test_check_config_writes_nothing(shell: Shell, tmp_path: Path) -> None:
    status, out, err = shell.run("check-config")
    assert (status, err) == (0, "")
    assert shell.database in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check-config", "--password-rounds", "99"], "ctfplatform check-config: --password-rounds: expected"),
        (["check-config", "--password"], "ctfplatform: unrecognized arguments: --password"),
        (["dance"], "ctfplatform: argument COMMAND: invalid choice: 'dance'"),
        (["token"], "ctfplatform token: the following arguments are required: USER"),
        (["token", "alice", "--expires", "0"], "expected a number of days from 1 to 36500; found '0'"),
        (["token", "alice", "--expires", "soon"], "expected a number of days from 1 to 36500; found 'soon'"),
        (["token", "alice"], "ctfplatform token: the database has no schema of the platform yet"),
        (["migrate", "--config", "/nowhere.toml"], "ctfplatform migrate: --config: expected a readable file"),
    ],
)
def test_anything_wrong_is_one_line_and_status_1(shell: Shell, arguments: list[str], said: str) -> None:
    assert said in refused(shell.run(*arguments))


@pytest.mark.parametrize("owner", ["alice", "alice@example.org"])
def test_token_prints_a_value_that_is_stored_hashed(shell: Shell, owner: str) -> None:
    shell.run("migrate")
    engine = create_engine(shell.database)
    with engine.begin() as conn:
        alice = a_user(conn, name="alice", email="alice@example.org")
    status, out, err = shell.run("token", owner, "--expires", "7", "--description", "scripts")
    assert (status, err) == (0, "")
    with engine.connect() as conn:
        row = conn.execute(select(tokens)).one()
        assert (row.user_id, row.description) == (alice, "scripts")
        assert row.expiration - row.created == timedelta(days=7)
        assert out.startswith("ctfd_")
        assert out.strip() not in str(row)
    engine.dispose()


def test_a_token_of_nobody_or_of_two_is_refused(shell: Shell) -> None:
    shell.run("migrate")
    assert "there is no user with the name or e-mail address 'bob'" in refused(shell.run("token", "bob"))
    engine = create_engine(shell.database)
    with engine.begin() as conn:
        a_user(conn, name="bob")
        a_user(conn, name="bob")
    engine.dispose()
    assert "several users are called 'bob'" in refused(shell.run("token", "bob"))


ADMIN = ("--name", "Evening CTF", "--admin-name", "root", "--admin-email", "root@example.org")


def test_setup_makes_the_competition_and_its_administrator(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("gehéim \nnot this\n")
    status, out, err = shell.run(
        "setup", *ADMIN, "--mode", "teams", "--admin-password-file", str(tmp_path / "password")
    )
    assert (status, err) == (0, "")
    assert "Evening CTF is set up; root is its administrator" in out
    engine = create_engine(shell.database)
    with engine.connect() as conn:
        competition = read_competition(conn)
        assert (competition.is_set_up, competition.name, competition.teams) == (True, "Evening CTF", True)
        admin = conn.execute(select(users)).one()
        assert (admin.name, admin.email, admin.type) == ("root", "root@example.org", "admin")
        assert verify("gehéim", admin.password)
    engine.dispose()
    again = shell.run("setup", *ADMIN, "--admin-password-file", str(tmp_path / "password"))
    assert "ctfplatform setup: The competition is already set up" in refused(again)


def test_setup_reads_the_password_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("geheim\n"))
    assert shell.run("setup", *ADMIN, "--admin-password-file", "-")[0] == 0
    assert shell.run("token", "root")[0] == 0


class Terminal(io.StringIO):
    """A standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def test_setup_asks_for_the_password_twice(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["one", "two", "same", "same"])
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))
    assert "the two passwords differ" in refused(shell.run("setup", *ADMIN))
    assert shell.run("setup", *ADMIN)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--admin-password-file is needed where nobody can be asked"),
        (["--admin-password-file", "/nowhere"], "No such file"),
        (["--admin-email", "nobody", "--admin-password-file", "-"], "Please enter a valid email address"),
        (["--mode", "solo", "--admin-password-file", "-"], "argument --mode: invalid choice: 'solo'"),
    ],
)
def test_a_wrong_setup_is_refused(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("geheim\n"))
    assert said in refused(shell.run("setup", *ADMIN, *arguments))
