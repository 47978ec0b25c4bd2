"""Queues before threads: what is refused, what is not begun, who has a turn, and when to come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ctfd_twisted.accounts.hasher import PATIENCE, Hasher
from ctfd_twisted.db.database import ASIDE, WAITING, Database
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.queue import LONGEST, Done, Queue, Turns, start_inline
from ctfd_twisted.errors import Busy
from ctfd_twisted.testing import result_of


class Threads:
    """Threads that work when the test says so; each piece of work takes *takes* seconds."""

    def __init__(self, takes: float = 0) -> None:
        self.clock = Clock()
        self.takes = takes
        self._pending: list[tuple[Callable[[], Any], Done]] = []

    def start(self, work: Callable[[], Any], done: Done) -> None:
        self._pending.append((work, done))

    def queue(self, most: int = 3, *, foresee: bool = False, patience: float = 10) -> Queue:
        return Queue(self.start, most=most, threads=1, patience=patience, foresee=foresee, seconds=self.clock.seconds)

    def spend(self) -> str:
        self.clock.advance(self.takes)
        return "done"

    def work(self, pieces: int = 10_000) -> None:
        pending, self._pending = self._pending[:pieces], self._pending[pieces:]
        for work, done in pending:
            start_inline(work, done)


def sent_away(put: Callable[[], Any]) -> int:
    """After how many seconds whoever is refused may come back."""
    with pytest.raises(Busy) as refused:
        put()
    return refused.value.retry_after


def test_beyond_the_bound_is_refused_until_something_is_done() -> None:
    threads = Threads()
    queue = threads.queue(most=2)
    waiting = [queue.put(lambda: 7), queue.put(lambda: 8)]
    assert sent_away(lambda: queue.put(lambda: 9)) == 1
    threads.work()
    assert [result_of(one) for one in waiting] == [7, 8]
    assert queue.waiting == 0
    queue.put(lambda: 9)


def test_who_is_refused_comes_back_when_what_waits_is_done_and_not_all_at_once() -> None:
    threads = Threads(takes=2)
    queue = threads.queue(most=4)
    queue.put(threads.spend)
    threads.work()
    for _ in range(4):
        queue.put(threads.spend)
    assert [sent_away(lambda: queue.put(threads.spend)) for _ in range(3)] == [8, 10, 12]
    for _ in range(100):
        assert sent_away(lambda: queue.put(threads.spend)) <= LONGEST
    threads.work()
    assert queue.waiting == 0


def test_what_would_wait_for_too_long_is_refused_before_it_waits() -> None:
    threads = Threads(takes=4)
    queue = threads.queue(most=100, foresee=True)
    queue.put(threads.spend)
    threads.work()
    first = [queue.put(threads.spend) for _ in range(3)]
    assert queue.wait == 12
    assert sent_away(lambda: queue.put(threads.spend)) == 12
    threads.work(1)
    queue.put(threads.spend)
    assert result_of(first[0]) == "done"


def test_what_has_waited_for_too_long_is_not_begun() -> None:
    threads = Threads()
    queue = threads.queue()
    begun: list[int] = []
    outcome = queue.put(lambda: begun.append(1))
    threads.clock.advance(11)
    threads.work()
    with pytest.raises(Busy):
        result_of(outcome)
    assert (begun, queue.waiting) == ([], 0)


def test_who_has_left_is_not_worked_for_and_makes_room_at_once() -> None:
    threads = Threads()
    queue = threads.queue(most=2)
    begun: list[int] = []
    leaver, stayer = queue.put(lambda: begun.append(1)), queue.put(lambda: begun.append(2))
    leaver.cancel()
    assert queue.waiting == 1
    late = queue.put(lambda: begun.append(3))
    threads.work()
    assert begun == [2, 3]
    assert queue.waiting == 0
    for outcome in (stayer, late):
        assert result_of(outcome) is None
    with pytest.raises(CancelledError):
        result_of(leaver)


def test_who_leaves_when_the_work_has_begun_is_counted_to_its_end_and_the_outcome_is_settled() -> None:
    threads = Threads()
    queue = threads.queue()
    settled: list[tuple[bool, Any]] = []

    def leave() -> str:
        outcome.cancel()
        assert queue.waiting == 1
        return "committed"

    def settle(succeeded: bool, value: Any) -> tuple[bool, Any]:  # noqa: FBT001 - an outcome
        settled.append((succeeded, value))
        return succeeded, value

    outcome: Deferred[str] = queue.put(leave, settle)
    threads.work()
    assert settled == [(True, "committed")]
    assert queue.waiting == 0
    with pytest.raises(CancelledError):
        result_of(outcome)


def test_each_kind_has_its_turn_however_many_wait_of_another() -> None:
    threads = Threads()
    turns = Turns(threads.start)
    many, few = turns.kind(), turns.kind()
    begun: list[str] = []
    for number in range(6):
        many(lambda number=number: begun.append(f"many {number}"), lambda *_: None)  # type: ignore[misc]
    for number in range(2):
        few(lambda number=number: begun.append(f"few {number}"), lambda *_: None)  # type: ignore[misc]
    threads.work()
    assert begun == ["many 0", "few 0", "many 1", "few 1", "many 2", "many 3", "many 4", "many 5"]


def test_a_failure_of_one_kind_is_told_to_its_own() -> None:
    turns = Turns(start_inline)
    told: list[tuple[bool, Any]] = []
    turns.kind()(lambda: 1 // 0, lambda *outcome: told.append(outcome))
    ((succeeded, failure),) = told
    assert not succeeded
    assert failure.check(ZeroDivisionError)


@pytest.fixture
def overrun() -> tuple[Database, Threads]:
    threads = Threads()
    return Database(open_engines("sqlite://"), Bus(), write=threads.start, read=threads.start), threads


def test_writes_reads_and_services_do_not_fill_each_others_queues(overrun: tuple[Database, Threads]) -> None:
    db, threads = overrun
    beside = db.aside()
    for _ in range(WAITING):
        db.run(lambda _: None)
    assert sent_away(lambda: db.run(lambda _: None)) == 1
    reading, serving = db.read(lambda _: "read"), beside.run(lambda _: "served")
    for _ in range(ASIDE):
        beside.read(lambda _: None)
    assert sent_away(lambda: beside.read(lambda _: None)) == 1
    threads.work()
    assert (result_of(reading), result_of(serving)) == ("read", "served")
    db.close()


def test_a_transaction_whose_client_has_hung_up_is_not_begun(overrun: tuple[Database, Threads]) -> None:
    db, threads = overrun
    begun: list[int] = []
    gone = db.run(lambda _: begun.append(1)).addErrback(lambda failure: failure.trap(CancelledError))
    gone.cancel()
    threads.work()
    assert (begun, db.writes.waiting) == ([], 0)
    db.close()


def test_no_hash_is_made_for_whom_it_would_come_too_late() -> None:
    threads = Threads()
    ticks = iter(range(0, 10_000, 4))
    hasher = Hasher(threads.start, rounds=4, threads=1, seconds=lambda: next(ticks))
    first = hasher.make("a")
    threads.work()
    assert result_of(first)
    for _ in range(PATIENCE // 4 + 1):
        hasher.make("b")
    assert sent_away(lambda: hasher.make("c")) >= PATIENCE
