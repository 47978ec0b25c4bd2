"""Claims about who waits for an export, for whom it is written, and what stays of it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from ctfd_twisted.archive.exporter import Exporter, Written
from ctfd_twisted.db.database import Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.schema import metadata
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.archives import read_archive

NOW = datetime(2026, 3, 14, tzinfo=UTC)


class Threads:
    """Work that is done when a test says so, one after another."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Done]] = []

    def start(self, work: Callable[[], Any], done: Done) -> None:
        self.waiting.append((work, done))

    def step(self) -> None:
        work, done = self.waiting.pop(0)
        start_inline(work, done)

    def finish(self) -> None:
        while self.waiting:
            self.step()


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def db(threads: Threads) -> Iterator[Database]:
    database = Database(open_engines("sqlite://"), Bus(), write=start_inline, read=threads.start)
    metadata.create_all(database.engines.write_engine)
    yield database
    database.close()


@pytest.fixture
def exporter(db: Database, threads: Threads, tmp_path: Path) -> Exporter:
    return Exporter(db, in_thread(threads.start), lambda _: None, tmp_path / "data")


def begun(exporter: Exporter) -> Deferred[Written]:
    return Deferred.fromCoroutine(exporter.archive(NOW))


def test_an_archive_is_as_long_as_it_says(exporter: Exporter, threads: Threads) -> None:
    export = begun(exporter)
    threads.finish()
    file, size = result_of(export)
    file.seek(0)
    body = file.read()
    assert len(body) == size
    assert "db/users.json" in read_archive(body)
    file.close()


def test_a_second_archive_waits_for_the_first(exporter: Exporter, threads: Threads) -> None:
    first, second = begun(exporter), begun(exporter)
    sheet = Deferred.fromCoroutine(exporter.sheet("users"))
    assert len(threads.waiting) == 2  # the first archive's, and the sheet's: that is short, and has turns of its own
    while not first.called:
        assert not second.called
        threads.step()
    threads.finish()
    for export in (first, second, sheet):
        result_of(export).file.close()


def test_it_is_told_how_far_the_archive_is(exporter: Exporter, threads: Threads) -> None:
    export = begun(exporter)
    threads.step()  # the file is there
    progress = exporter.under_way
    assert progress is not None
    threads.finish()
    assert (progress.done, exporter.under_way) == (progress.total, None)
    result_of(export).file.close()


@pytest.mark.parametrize("steps", range(4))
def test_an_export_that_nobody_waits_for_ends(exporter: Exporter, threads: Threads, tmp_path: Path, steps: int) -> None:
    export = begun(exporter)
    for _ in range(steps):
        threads.step()
    export.cancel()
    with pytest.raises(CancelledError):
        result_of(export)
    threads.finish()
    assert open_below(tmp_path) == []
    assert exporter.under_way is None
    after = begun(exporter)
    threads.finish()
    written = result_of(after)
    assert len(open_below(tmp_path)) == 1
    written.file.close()


def test_one_that_waits_for_its_turn_may_go(exporter: Exporter, threads: Threads, tmp_path: Path) -> None:
    first, second, third = begun(exporter), begun(exporter), begun(exporter)
    second.cancel()
    threads.finish()
    with pytest.raises(CancelledError):
        result_of(second)
    for export in (first, third):
        result_of(export).file.close()
    assert open_below(tmp_path) == []


def test_an_archive_that_fails_leaves_nothing(db: Database, threads: Threads, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    exporter = Exporter(db, in_thread(threads.start), lambda _: None, blocked)
    for _ in range(2):
        export = begun(exporter)
        threads.finish()
        with pytest.raises(FileExistsError):
            result_of(export)
    assert exporter.under_way is None


def open_below(folder: Path) -> list[str]:
    """Files in *folder* that this process has open, with or without a name."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(descriptor.readlink()))
    return [name for name in found if name.startswith(f"{folder}/")]
