"""Claims about content that belongs to nobody: it is found, wherever the process was killed, and nothing else is."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.db.database import start_inline
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.files import store
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.files.handlers import FileRoom
from ctfd_twisted.files.loose import COMING
from ctfd_twisted.files.store import Owner
from ctfd_twisted.files.tables import loose
from ctfd_twisted.files.tidying import EVERY
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge

Make = Callable[..., Any]


@pytest.fixture
def clock(platform: MemoryPlatform, uploads: Path) -> Iterator[Clock]:
    """Runs the service."""
    room = FileRoom(platform.db, Disk(uploads), in_thread(start_inline), lambda: platform.now)
    service = room.tidying(platform.clock)
    service.startService()
    yield platform.clock
    service.stopService()


def stored(uploads: Path) -> list[str]:
    return sorted(str(path.relative_to(uploads)) for path in uploads.rglob("*") if path.is_file())


def written_down(platform: MemoryPlatform) -> list[str]:
    found: list[str] = platform.run(lambda conn: list(conn.execute(select(loose.c.location)).scalars()))
    return found


def test_content_whose_row_never_came_goes(platform: MemoryPlatform, uploads: Path, put: Make, clock: Clock) -> None:
    put("abc/a.txt")
    number = put("def/b.txt")
    platform.run(store.expect_files, platform.now, Owner("standard"), ["def/b.txt", "ghi/c.txt"])
    platform.run(lambda conn: conn.execute(delete(files).where(files.c.id == number)))
    clock.advance(COMING.total_seconds() - 10)
    assert stored(uploads) == ["abc/a.txt", "def/b.txt"]
    clock.advance(EVERY + 10)
    assert (stored(uploads), written_down(platform)) == (["abc/a.txt"], [])
    assert not (uploads / "def").exists()


def test_content_whose_row_went_goes_with_the_start(platform: MemoryPlatform, uploads: Path, put: Make) -> None:
    put("abc/a.txt")
    challenge = platform.run(a_challenge)
    put("def/b.txt", type="challenge", challenge_id=challenge)
    number = put("ghi/c.txt")
    # As where the process is killed after the commit.
    platform.run(store.delete_file, number)
    assert written_down(platform) == ["ghi/c.txt"]
    room = FileRoom(platform.db, Disk(uploads), in_thread(start_inline), lambda: platform.now)
    service = room.tidying(platform.clock)
    service.startService()
    assert (stored(uploads), written_down(platform)) == (["abc/a.txt", "def/b.txt"], [])
    service.stopService()
    assert platform.clock.getDelayedCalls() == []


def test_content_that_a_row_names_stays(platform: MemoryPlatform, uploads: Path, put: Make, clock: Clock) -> None:
    put("abc/a.txt")
    platform.run(store.expect_files, platform.now - timedelta(days=9), Owner("standard"), ["abc/a.txt"])
    clock.advance(EVERY)
    assert (stored(uploads), written_down(platform)) == (["abc/a.txt"], [])


def test_what_can_not_be_removed_is_tried_again(
    platform: MemoryPlatform, uploads: Path, put: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.run(store.delete_file, put("abc/a.txt"))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched, capturedLogs() as said:
        patched.setattr(Disk, "remove", refuse)
        clock.advance(EVERY)
    assert any("tried again" in str(event.get("log_format")) for event in said)
    assert (stored(uploads), written_down(platform)) == (["abc/a.txt"], ["abc/a.txt"])
    clock.advance(EVERY)
    assert (stored(uploads), written_down(platform)) == ([], [])


def test_a_look_that_fails_is_not_the_last(
    platform: MemoryPlatform, uploads: Path, put: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.run(store.delete_file, put("abc/a.txt"))

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched, capturedLogs() as said:
        patched.setattr(Disk, "forget", refuse)
        clock.advance(EVERY)
    assert any("again in an hour" in str(event.get("log_format")) for event in said)
    clock.advance(EVERY)
    assert stored(uploads) == []
