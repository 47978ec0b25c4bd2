"""Exports of adopted events by a running platform, over HTTP and from a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import requests
from running import BIN, DEADLINE, Person, PlatformProcess, eventually
from sqlalchemy import create_engine, text

from ctfd_twisted.testing.archives import read_archive

DATA = Path(__file__).parents[1] / "data"
#: Bytes of an upload that no socket's buffer holds.
LARGE = 32 * 1024 * 1024


@pytest.fixture
def theirs(ctfd_event: Any, tmp_path: Path) -> Path | None:
    """CTFd's own archive of the event, whose uploads are put where the platform looks for them."""
    if not ctfd_event.url.startswith("sqlite"):
        return None
    archive = DATA / f"ctfd-3.8.7-{ctfd_event.mode}-export.zip"
    with ZipFile(archive) as opened:
        opened.extractall(tmp_path / "data", [name for name in opened.namelist() if name.startswith("uploads/")])
    return archive


@pytest.fixture
def platform(ctfd_event: Any, theirs: Path | None, tmp_path: Path) -> Iterator[PlatformProcess]:
    del theirs
    with PlatformProcess(tmp_path, ctfd_event.url, SECRET_KEY=ctfd_event.secret_key) as running:
        yield running


def unlinked(platform: PlatformProcess) -> list[str]:
    """Files without a name that the platform has open."""
    found = []
    for descriptor in Path(f"/proc/{platform.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return [name for name in found if name.endswith("(deleted)") and "/data/" in name]


def test_what_is_downloaded_is_what_ctfd_would_have_written(
    ctfd_event: Any, theirs: Path | None, platform: PlatformProcess, tmp_path: Path
) -> None:
    admin = Person(platform, ctfd_event.admin_token)
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: admin.raw("POST", "/exports/raw", {}), range(3)))
    assert {(answer.status_code, answer.headers["Content-Type"]) for answer in answers} == {(200, "application/zip")}
    assert all(int(answer.headers["Content-Length"]) == len(answer.content) for answer in answers)
    archive = read_archive(answers[0].content)
    if theirs is not None:
        expected = read_archive(theirs.read_bytes())
        # What has changed since: the token's first use here, when the admin was last seen, and CTFd's mark.
        same = expected.keys() - {"db/tokens.json", "db/tracking.json", "db/config.json"}
        assert {name: archive[name] for name in same} == {name: expected[name] for name in same}
    target = tmp_path / "by hand.zip"
    command: list[str | Path] = [BIN / "ctfplatform", "export", target, "--data-dir", tmp_path / "data"]
    done = subprocess.run([*command, "--database", ctfd_event.url], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"Exported to {target}\n", "")
    by_hand = read_archive(target.read_bytes())
    assert by_hand.keys() == archive.keys()
    assert by_hand["db/submissions.json"] == archive["db/submissions.json"]
    assert unlinked(platform) == []


def test_a_sheet_has_the_board_that_ctfd_showed(ctfd_event: Any, platform: PlatformProcess) -> None:
    admin = Person(platform, ctfd_event.admin_token)
    answer = admin.raw("POST", "/exports/raw", {"type": "csv", "args": {"table": "scoreboard"}})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    header, *lines = [line.split(",") for line in answer.content.decode().splitlines()]
    name = header.index("team" if ctfd_event.mode == "teams" else "user name")
    board = [[int(line[0]), line[name], int(line[header.index("score")])] for line in lines if line[0]]
    assert board == ctfd_event.scoreboard


def test_who_goes_away_leaves_nothing_behind(ctfd_event: Any, platform: PlatformProcess, tmp_path: Path) -> None:
    large = tmp_path / "data" / "uploads" / "aa" / "large.bin"
    large.parent.mkdir(parents=True)
    with large.open("wb") as file:
        file.truncate(LARGE)
    engine = create_engine(ctfd_event.url)
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO files (id, type, location) VALUES (99, 'standard', 'aa/large.bin')"))
    engine.dispose()
    headers = {"Authorization": f"Token {ctfd_event.admin_token}", "Content-Type": "application/json"}
    address = f"{platform.base}/api/v1/exports/raw"
    with requests.post(address, "{}", headers=headers, stream=True, timeout=DEADLINE) as answer:
        assert int(answer.headers["Content-Length"]) > LARGE
        assert next(answer.iter_content(1024))
        assert len(unlinked(platform)) == 1
    eventually(lambda: unlinked(platform) == [], "the file of an abandoned download is closed")
    whole = requests.post(address, "{}", headers=headers, timeout=DEADLINE)
    assert len(whole.content) > LARGE
