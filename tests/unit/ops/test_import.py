"""Claims about ``ctfplatform import``: what it prints, and with which status it ends."""

from pathlib import Path

import pytest

from ctfd_twisted.ops.cli import main

ARCHIVE = Path(__file__).parents[2] / "data" / "ctfd-3.8.7-users-export.zip"


class Shell:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._place = ("--data-dir", str(folder / "data"), "--database", f"sqlite:///{folder}/ctf.sqlite")
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The exit status, standard output and standard error."""
        return (main(["import", *arguments, *self._place]), *self._capsys.readouterr())


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in ("DATABASE_URL", "SECRET_KEY", "CTFPLATFORM_CONFIG", "UPLOAD_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    return Shell(tmp_path, capsys)


def test_a_trial_makes_no_database_and_an_import_does(shell: Shell, tmp_path: Path) -> None:
    status, out, err = shell.run("--dry-run", str(ARCHIVE))
    assert (status, err, out.splitlines()[-1]) == (0, "", "Nothing was changed")
    assert not (tmp_path / "data" / "uploads").exists()
    status, out, err = shell.run(str(ARCHIVE))
    assert (status, err, out.splitlines()[-1]) == (0, "", "Imported; everybody has to sign in again")
    assert "13 users" in out
    assert "challenges.value: did not follow the solves that count, and does now" in out
    assert len(list((tmp_path / "data" / "uploads").glob("*/handout-*.txt"))) == 4


def test_what_can_not_be_imported_is_one_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    for archive, why in ((tmp_path / "text.zip", "zipfile is invalid"), (tmp_path / "gone.zip", "No such file")):
        status, out, err = shell.run("--dry-run", str(archive))
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert why in err
