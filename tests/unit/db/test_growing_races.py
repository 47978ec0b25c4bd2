"""A value that grows is never older than what was told before the question, however reads and commits meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.db.database import Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.db.notices import EVERYTHING, Bus
from ctfd_twisted.db.queue import outcome_of


class World:
    """What is stored and what of it was told; reads work, and their ends are heard, when the test says so."""

    def __init__(self) -> None:
        self.stored: frozenset[int] = frozenset()
        self.untold: list[tuple[frozenset[str], frozenset[int]]] = []
        self.told: frozenset[int] = frozenset()
        self.waiting: list[tuple[Callable[[], Any], Done]] = []
        self.ended: list[tuple[Done, tuple[bool, Any]]] = []
        self.asked = self.answered = 0
        self.number = 0
        self.faults: list[Failure] = []
        self.bus = Bus()
        self.away = False
        self.db = Database(open_engines("sqlite://"), self.bus, write=start_inline, read=self._begin)
        self.value = GrowingSnapshot(
            self.db, self.bus, self._build, self._grow, topics=("changed",), prefixes=("new:",)
        )

    def _begin(self, work: Callable[[], Any], done: Done) -> None:
        self.waiting.append((work, done))

    def _build(self, conn: Connection) -> set[int]:
        del conn
        if self.away:
            raise ValueError("away")
        return set(self.stored)

    def _grow(self, conn: Connection, value: set[int], news: frozenset[str]) -> set[int] | None:
        """Takes over what the news names; None for what it can't, as a number that seven divides."""
        del conn
        numbers = {int(topic.removeprefix("new:")) for topic in news}
        if any(number % 7 == 0 for number in numbers):
            return None
        value |= numbers & self.stored
        if self.away:
            raise ValueError("away")
        return value

    def add(self) -> None:
        """A commit that adds, whose news is on its way."""
        self.number += 1
        self.stored |= {self.number}
        self.untold.append((frozenset({f"new:{self.number}"}), frozenset({self.number})))

    def take(self) -> None:
        """A commit that takes something away."""
        gone = frozenset(sorted(self.stored)[:1])
        self.stored -= gone
        self.untold.append((frozenset({"changed"}), gone))

    def tell(self, last: bool) -> None:  # noqa: FBT001 - built by Hypothesis
        """News comes, perhaps before that of earlier commits."""
        if self.untold:
            topics, numbers = self.untold.pop(-1 if last else 0)
            self.told = self.told - numbers if "changed" in topics else self.told | numbers
            self.bus.publish(topics)

    def lose(self) -> None:
        """The news of all that was not told yet is lost, and the listener says so."""
        self.untold.clear()
        self.told = self.stored
        self.bus.publish((EVERYTHING,))

    def ask(self) -> None:
        told = self.told & self.stored
        gone = frozenset(range(1, self.number + 1)) - self.stored
        gone -= frozenset().union(*(numbers for topics, numbers in self.untold if "changed" in topics))

        def answered(value: set[int]) -> None:
            self.answered += 1
            # What was taken away since may lack, and be there still, as long as nobody was told.
            assert told & self.stored <= value
            assert not gone & value

        def failed(failure: Failure) -> None:
            self.answered += 1
            failure.trap(ValueError)

        self.asked += 1
        got: Deferred[set[int]] = self.value.get()
        got.addCallback(lambda value: answered(set(value)))
        got.addErrback(failed)
        got.addErrback(self.faults.append)

    def work(self) -> None:
        if self.waiting:
            work, done = self.waiting.pop(0)
            self.ended.append((done, outcome_of(work)))

    def end(self) -> None:
        if self.ended:
            done, outcome = self.ended.pop(0)
            done(*outcome)

    def turn(self) -> None:
        self.away = not self.away


STEPS = st.sampled_from(
    ["add", "add", "take", "first", "last", "lose", "ask", "ask", "work", "end", "work", "end", "turn"]
)


@given(steps=st.lists(STEPS, max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_answer_is_older_than_what_was_told_before_the_question(steps: list[str]) -> None:
    world = World()
    for begin in (world.ask, world.work, world.end):
        begin()
    for step in steps:
        if step in {"first", "last"}:
            world.tell(step == "last")
        else:
            getattr(world, step)()
    world.away = False
    while world.untold:
        world.tell(False)
    for _ in range(2):  # a read that failed is told to whoever waited for it, and the next who asks begins another
        while world.waiting or world.ended:
            world.work()
            world.end()
        world.ask()
    assert world.faults == []
    assert world.asked == world.answered
    assert world.value.ready() == set(world.stored)
    world.db.close()


def test_a_commit_whose_answer_was_lost_may_have_been_one() -> None:
    """Nobody else tells this node what it has written itself."""
    world = World()
    heard: list[frozenset[str]] = []
    world.bus.subscribe(heard.append)

    def write(conn: Connection) -> None:
        del conn
        lost = OperationalError(None, None, Exception("server closed the connection unexpectedly"))
        lost.connection_invalidated = True
        raise lost

    failed: list[Failure] = []
    world.db.run(write).addErrback(failed.append)
    assert (len(failed), heard) == (1, [frozenset({EVERYTHING})])
    world.db.close()
