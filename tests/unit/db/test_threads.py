"""Threads take what waits one after the other, and the reactor is woken once for what they have done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Barrier, Event, current_thread
from typing import Any

import pytest
from twisted.logger import capturedLogs
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.threads import start_in


class Reactor:
    """What threads have asked the reactor for."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.turns = 0

    def call(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        self.asked.put(lambda: callable(*args, **kwargs))

    def turn(self) -> None:
        """Wait until a thread asks for something, and do it."""
        self.asked.get(timeout=20)()
        self.turns += 1


@pytest.fixture
def reactor() -> Reactor:
    return Reactor()


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    pool = ThreadPool(0, 2, "tested")
    pool.start()
    yield pool
    pool.stop()


def test_the_outcomes_of_many_pieces_come_in_few_turns_and_in_order(reactor: Reactor, pool: ThreadPool) -> None:
    pool.adjustPoolsize(0, 1)
    start, begin, all_done = start_in(pool, reactor.call), Event(), Event()
    told: list[tuple[bool, Any]] = []
    start(lambda: begin.wait(20), lambda *outcome: told.append(outcome))
    for number in range(50):
        start(lambda number=number: number, lambda *outcome: told.append(outcome))  # type: ignore[misc]
    start(all_done.set, lambda *outcome: told.append(outcome))
    begin.set()
    assert all_done.wait(20)
    while len(told) < 52:
        reactor.turn()
    assert told[1:51] == [(True, number) for number in range(50)]
    assert reactor.turns <= 2


def test_as_many_threads_work_as_the_pool_has(reactor: Reactor, pool: ThreadPool) -> None:
    together = Barrier(2, timeout=20)
    start = start_in(pool, reactor.call)
    names: set[str] = set()

    def work() -> None:
        together.wait()  # nobody passes alone
        names.add(current_thread().name)

    left = [None, None]
    for _ in range(2):
        start(work, lambda *_: left.pop())
    while left:
        reactor.turn()
    assert len(names) == 2


def test_a_failure_is_told_and_the_next_piece_is_done(reactor: Reactor, pool: ThreadPool) -> None:
    start = start_in(pool, reactor.call)
    told: list[tuple[bool, Any]] = []
    for divisor in (0, 1):
        start(lambda divisor=divisor: 1 // divisor, lambda *outcome: told.append(outcome))  # type: ignore[misc]
        while len(told) <= divisor:
            reactor.turn()
    assert not told[0][0]
    assert told[0][1].check(ZeroDivisionError)
    assert told[1] == (True, 1)


def test_who_can_not_take_an_outcome_does_not_keep_it_from_others(reactor: Reactor, pool: ThreadPool) -> None:
    start = start_in(pool, reactor.call)
    told: list[Any] = []

    def broken(*_: object) -> None:
        raise RuntimeError("of the test")

    with capturedLogs() as logs:
        start(lambda: 1, broken)
        start(lambda: 2, lambda *outcome: told.append(outcome))
        while not told:
            reactor.turn()
    assert told == [(True, 2)]
    assert [str(event["log_failure"].value) for event in logs if "log_failure" in event] == ["of the test"]
