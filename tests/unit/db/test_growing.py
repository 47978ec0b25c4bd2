"""What grows with news: how often it is brought up to date in a rush, and that it never answers with less than was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.db.database import WAITING, Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import Busy
from ctfd_twisted.testing import result_of


class House:
    """A sum that grows with news, over a database that reads when the test says so."""

    def __init__(self) -> None:
        self.bus = Bus()
        self.total = 0
        self.made: list[str] = []
        self.pending: list[tuple[Callable[[], Any], Done]] = []
        start = lambda work, done: self.pending.append((work, done))  # noqa: E731 - a thread pool in one line
        self.db = Database(open_engines("sqlite://"), self.bus, write=start_inline, read=start)
        self.sums = GrowingSnapshot(self.db, self.bus, self._build, self._grow, topics=("all",), prefixes=("one:",))

    def _build(self, _: Connection) -> tuple[int]:
        self.made.append("built")
        return (self.total,)

    def _grow(self, _conn: Connection, _base: tuple[int], news: frozenset[str]) -> tuple[int]:
        self.made.append(f"grown by {len(news)}")
        return (self.total,)

    def add(self) -> None:
        self.total += 1
        self.bus.publish((f"one:{self.total}",))

    def work(self) -> None:
        """Let one read happen."""
        work, done = self.pending.pop(0)
        start_inline(work, done)


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.db.close()


def test_however_much_comes_while_one_is_under_way_one_more_follows(house: House) -> None:
    first = house.sums.get()
    waiting = []
    for _ in range(10):
        house.add()
        waiting.append(house.sums.get())
    house.work()
    house.work()
    assert house.pending == []
    assert result_of(first) == (10,)
    assert [result_of(one) for one in waiting] == [(10,)] * 10
    assert house.made == ["built", "grown by 10"]
    assert house.sums.ready() == (10,)


def test_who_asks_after_a_commit_never_gets_what_was_read_before_it(house: House) -> None:
    first = house.sums.get()
    work, done = house.pending.pop(0)
    outcome: list[tuple[bool, Any]] = []
    start_inline(work, lambda *told: outcome.append(told))  # it has read, and the reactor has not heard of it
    house.add()
    second = house.sums.get()
    done(*outcome[0])
    assert result_of(first) == (0,)
    house.work()
    assert result_of(second) == (1,)


def test_what_waits_is_built_anew_where_everything_has_changed_meanwhile(house: House) -> None:
    house.sums.get()
    house.work()
    house.add()
    under_way = house.sums.get()
    house.add()
    waits = house.sums.get()
    house.bus.publish(("all",))
    house.work()
    house.work()
    assert (result_of(under_way), result_of(waits)) == ((2,), (2,))
    assert house.made == ["built", "grown by 1", "built"]


def test_who_can_not_be_read_for_is_told_and_the_next_is_read_for(house: House) -> None:
    house.db.reads.waiting = WAITING
    with pytest.raises(Busy):
        result_of(house.sums.get())
    house.db.reads.waiting = 0
    again = house.sums.get()
    house.work()
    assert result_of(again) == (0,)
