"""An event of CTFd's moves in as an archive: with a form in a browser, and from a shell beside a running platform."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests
from running import BIN, DEADLINE, Person, PlatformProcess, eventually

DATA = Path(__file__).parents[1] / "data"
#: Bytes of an upload in the archive: more than other bodies may have.
LARGE = 20 * 1024 * 1024
PASSWORD = "a password that is long"


def command(name: str, folder: Path, database: str, *arguments: str | Path) -> str:
    """What a command of ``ctfplatform`` prints; it must succeed."""
    place = ("--data-dir", folder / "data", "--database", database)
    done = subprocess.run([BIN / "ctfplatform", name, *arguments, *place], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """CTFd's archive of its team event, with one large upload more."""
    path = tmp_path / "archive.zip"
    path.write_bytes((DATA / "ctfd-3.8.7-teams-export.zip").read_bytes())
    with ZipFile(path, "a") as opened:
        opened.writestr("uploads/aa/large.bin", b"0123456789abcdef" * (LARGE // 16))
    return path


def test_an_archive_comes_in_by_a_form(database_url: str, archive: Path, tmp_path: Path) -> None:
    told = json.loads((DATA / "ctfd-3.8.7-teams.json").read_text())
    (tmp_path / "password").write_text(PASSWORD)
    who = ("--name", "Old", "--admin-name", "boss", "--admin-email", "boss@example.org")
    command("setup", tmp_path, database_url, *who, "--admin-password-file", tmp_path / "password")
    with PlatformProcess(tmp_path, database_url) as platform:
        boss = requests.Session()

        def nonce(path: str) -> str:
            found = re.search(r"csrfNonce': \"([a-f0-9]{64})\"", boss.get(platform.base + path, timeout=DEADLINE).text)
            assert found is not None
            return found[1]

        def send(**fields: str) -> requests.Response:
            files = {"backup": ("a.zip", archive.read_bytes(), "application/zip")}
            return boss.post(f"{platform.base}/admin/import", fields, files=files, timeout=DEADLINE)

        boss.post(
            f"{platform.base}/login", {"nonce": nonce("/login"), "name": "boss", "password": PASSWORD}, timeout=20
        )
        assert send(nonce=nonce("/settings"), dry_run="1").status_code == 200

        def tried() -> bool:
            page = boss.get(f"{platform.base}/admin/import", timeout=DEADLINE).text
            return "what the import would do" in page and "4 teams" in page and "5 uploads" in page

        eventually(tried, "the trial has ended")
        assert send(nonce=nonce("/settings")).status_code == 200
        admin = Person(platform, told["admin_token"])
        eventually(lambda: admin.raw("GET", "/users/me").status_code == 200, "the archive is in")
        board = Person(platform).call("GET", "/scoreboard")
        assert [[row["pos"], row["name"], row["score"]] for row in board] == told["scoreboard"]
        assert boss.get(f"{platform.base}/admin/import", timeout=20).url.startswith(f"{platform.base}/login")
    large = tmp_path / "data" / "uploads" / "aa" / "large.bin"
    assert large.stat().st_size == LARGE


def test_an_archive_comes_in_from_a_shell_beside_a_running_platform(
    database_url: str, archive: Path, tmp_path: Path
) -> None:
    told = json.loads((DATA / "ctfd-3.8.7-teams.json").read_text())
    with PlatformProcess(tmp_path, database_url) as platform:
        assert "Nothing was changed" in command("import", tmp_path, database_url, "--dry-run", archive)
        assert Person(platform).page("/").url.endswith("/setup")
        printed = command("import", tmp_path, database_url, archive)
        assert "uploads: belong to no file" in printed
        assert "Imported; everybody has to sign in again" in printed

        def board() -> bool:
            answer = Person(platform).raw("GET", "/scoreboard")
            return answer.status_code == 200 and len(answer.json()["data"]) == len(told["scoreboard"])

        eventually(board, "the running platform shows the board of the archive")
        assert Person(platform, told["admin_token"]).call("GET", "/users/me")["name"] == told["admin"][0]
