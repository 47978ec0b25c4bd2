"""Notes that nobody waits for: written together, soon, in one transaction, and before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import Connection
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from ctfd_twisted.db import behind as module
from ctfd_twisted.db.behind import TOGETHER, Notes, WriteBehind
from ctfd_twisted.db.database import WAITING, Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.testing import result_of


class House:
    """A write-behind of two kinds, over a database whose writer works when the test says so."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.pending: list[Callable[[], None]] = []
        self.db = Database(open_engines("sqlite://"), Bus(), write=self._write, read=start_inline)
        self.behind = WriteBehind(self.db, self.clock)
        self.written: list[tuple[str, dict[Any, Any]]] = []
        self.broken = False
        self.looks: Notes[int, str] = self.behind.notes(lambda conn, notes: self._record(conn, "looks", notes))
        self.uses: Notes[int, str] = self.behind.notes(lambda conn, notes: self._record(conn, "uses", notes))

    def _write(self, work: Callable[[], Any], done: Done) -> None:
        self.pending.append(lambda: start_inline(work, done))

    def _record(self, _conn: Connection, kind: str, notes: Mapping[int, str]) -> None:
        if self.broken:
            raise RuntimeError("the disk is full")
        self.written.append((kind, dict(notes)))

    def work(self) -> list[tuple[str, dict[Any, Any]]]:
        """Let the writer do what it has to; what was written, kind by kind."""
        pending, self.pending = self.pending, []
        for one in pending:
            one()
        written, self.written = self.written, []
        return written


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.db.close()


def test_notes_of_a_second_are_one_transaction(house: House) -> None:
    house.looks.add(1, "first")
    house.clock.advance(TOGETHER / 2)
    house.looks.add(1, "newest")
    house.looks.add(2, "other")
    house.uses.add(7, "use")
    assert house.pending == []
    house.clock.advance(TOGETHER / 2)
    assert len(house.pending) == 1
    assert house.work() == [("looks", {1: "newest", 2: "other"}), ("uses", {7: "use"})]


def test_nothing_happens_where_nothing_is_noted(house: House) -> None:
    house.looks.add(1, "look")
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {1: "look"})]
    assert house.clock.getDelayedCalls() == []
    result_of(house.behind.stopService())
    assert house.pending == []


def test_notes_that_come_while_others_are_written_wait_for_the_next_second(house: House) -> None:
    house.looks.add(1, "look")
    house.clock.advance(TOGETHER)
    house.looks.add(2, "later")
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {1: "look"})]
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {2: "later"})]


def test_a_stopped_service_has_written_everything(house: House) -> None:
    house.looks.add(1, "look")
    house.clock.advance(TOGETHER)
    house.looks.add(2, "last")
    stopped: list[None] = []
    house.behind.stopService().addCallback(stopped.append)
    assert house.work() == [("looks", {1: "look"})]
    assert stopped == []
    assert house.work() == [("looks", {2: "last"})]
    assert stopped == [None]
    assert house.clock.getDelayedCalls() == []


def test_what_could_not_be_written_is_logged_and_the_next_is_written(house: House) -> None:
    house.broken = True
    house.looks.add(1, "lost")
    house.clock.advance(TOGETHER)
    with capturedLogs() as logged:
        assert house.work() == []
    assert [str(event["log_failure"].value) for event in logged] == ["the disk is full"]
    house.broken = False
    house.looks.add(2, "next")
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {2: "next"})]


def test_notes_wait_while_the_database_is_overrun(house: House) -> None:
    house.looks.add(1, "early")
    house.looks.add(2, "early")
    for _ in range(WAITING):
        house.db.run(lambda _conn: None)
    house.clock.advance(TOGETHER)
    house.looks.add(1, "late")
    assert house.work() == []
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {1: "late", 2: "early"})]


def test_only_so_many_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 2)
    for number in (1, 2, 3, 1):
        house.looks.add(number, f"look {number}")
    house.clock.advance(TOGETHER)
    assert house.work() == [("looks", {1: "look 1", 2: "look 2"})]
