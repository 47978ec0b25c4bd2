"""Claims about ``ctfplatform export``: where the archive comes to stand, and what stays where it does not."""

import stat
from pathlib import Path

import pytest

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.ops.cli import main
from ctfd_twisted.testing.archives import read_archive
from ctfd_twisted.testing.builders import a_user


class Shell:
    """Exports a competition called ``A/B``."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._place = ("--data-dir", str(folder / "data"), "--database", f"sqlite:///{folder}/ctf.sqlite")
        self._capsys = capsys
        engines = open_engines(f"sqlite:///{folder}/ctf.sqlite")
        migrate(engines.write_engine)
        with engines.write_engine.begin() as conn:
            write_config(conn, {"ctf_name": "A/B"})
            a_user(conn, name="ada")
        engines.close()

    def export(self, *arguments: str) -> tuple[int, str, str]:
        """The exit status, standard output and standard error."""
        return (main(["export", *arguments, *self._place]), *self._capsys.readouterr())


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("DATABASE_URL", "SECRET_KEY", "CTFPLATFORM_CONFIG", "UPLOAD_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, capsys)


def test_an_archive_replaces_what_was_there_and_is_for_nobody_else(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "backup.zip"
    target.write_text("last week's")
    assert shell.export(str(target)) == (0, f"Exported to {target}\n", "")
    assert [row["name"] for row in read_archive(target.read_bytes())[f"db/{users.name}.json"]["results"]] == ["ada"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]


def test_without_a_name_it_has_that_of_the_competition(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    status, _, err = shell.export()
    (made,) = (tmp_path / "here").iterdir()
    assert (status, err, made.name.startswith("A_B.20")) == (0, "", True)


def test_what_can_not_be_written_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    status, out, err = shell.export(str(tmp_path / "missing" / "a.zip"))
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "the archive can't be written" in err
    (tmp_path / "folder").mkdir()
    assert shell.export(str(tmp_path / "folder"))[0] == 1
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".")] == []


def test_a_database_without_the_schema_is_not_exported(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del shell
    place = ("--data-dir", str(tmp_path / "data"), "--database", f"sqlite:///{tmp_path}/new.sqlite")
    assert main(["export", str(tmp_path / "a.zip"), *place]) == 1
    assert "run ctfplatform migrate" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()
