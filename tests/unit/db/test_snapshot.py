"""Snapshots: built once, never older than the last commit before the question."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from ctfd_twisted.db.database import Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import EVERYTHING, Bus
from ctfd_twisted.db.snapshot import KeyedSnapshots, NamedIn, Snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Threads:
    """Transactions that are worked on when the test says so."""

    def __init__(self) -> None:
        self.pending: list[tuple[Callable[[], Any], Done]] = []

    def start(self, work: Callable[[], Any], done: Done) -> None:
        self.pending.append((work, done))

    def finish_all(self) -> None:
        pending, self.pending = self.pending, []
        for work, done in pending:
            done(True, work())


class SnapshotTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.threads = Threads()
        self.bus = Bus()
        self.db = Database(open_engines("sqlite://"), self.bus, write=self.threads.start, read=self.threads.start)
        self.addCleanup(self.db.close)
        self.builds = 0

    def build(self, _conn: object, key: str = "") -> str:
        self.builds += 1
        return f"{key}{self.builds}"

    def asked(self, awaitable: Any) -> Deferred[str]:
        assert isinstance(awaitable, Deferred)
        return awaitable

    def test_all_who_ask_meanwhile_wait_for_one_build(self) -> None:
        snapshot = Snapshot(self.db, self.bus, self.build, {"a"})
        waiting = [self.asked(snapshot.get()) for _ in range(3)]
        assert len(self.threads.pending) == 1
        self.threads.finish_all()
        assert [self.successResultOf(one) for one in waiting] == ["1", "1", "1"]
        assert snapshot.ready() == "1"

    def test_only_its_topics_drop_it(self) -> None:
        snapshot = Snapshot(self.db, self.bus, self.build, {"a"})
        snapshot.get()
        self.threads.finish_all()
        self.bus.publish({"b"})
        assert snapshot.ready() == "1"
        self.bus.publish({"b", "a"})
        assert snapshot.ready() is None
        snapshot.get()
        self.threads.finish_all()
        self.bus.publish({EVERYTHING})
        assert snapshot.ready() is None

    def test_a_build_overtaken_by_a_commit_is_kept_for_nobody(self) -> None:
        snapshot = Snapshot(self.db, self.bus, self.build, {"a"})
        before = self.asked(snapshot.get())
        self.bus.publish({"a"})
        after = self.asked(snapshot.get())
        assert len(self.threads.pending) == 2
        self.threads.finish_all()
        assert (self.successResultOf(before), self.successResultOf(after)) == ("1", "2")
        assert snapshot.ready() == "2"

    def test_a_build_that_fails_fails_for_those_who_wait_and_is_tried_again(self) -> None:
        def broken(_conn: object) -> str:
            raise LookupError

        snapshot = Snapshot(self.db, self.bus, broken, {"a"})
        for _ in range(2):
            waiting = self.asked(snapshot.get())
            work, done = self.threads.pending.pop()
            start_inline(work, done)
            self.failureResultOf(waiting, LookupError)

    def test_one_reader_that_goes_away_does_not_take_the_build_from_the_others(self) -> None:
        snapshot = Snapshot(self.db, self.bus, self.build, {"a"})
        gone, stays = self.asked(snapshot.get()), self.asked(snapshot.get())
        gone.cancel()
        self.failureResultOf(gone, CancelledError)
        self.threads.finish_all()
        assert self.successResultOf(stays) == "1"

    def test_a_value_is_stale_from_its_own_instant_on(self) -> None:
        snapshot = Snapshot(self.db, self.bus, self.build, {"a"}, until=lambda _: NOW)
        snapshot.get()
        self.threads.finish_all()
        assert snapshot.ready(NOW - timedelta(microseconds=1)) == "1"
        assert snapshot.ready(NOW) is None

    def test_keys_are_dropped_apart_and_the_one_asked_for_longest_ago_goes_first(self) -> None:
        snapshots = KeyedSnapshots(
            self.db, self.bus, self.build, {"all"}, topics_of=lambda key: {f"user:{key}"}, limit=2
        )
        for key in ("a", "b"):
            snapshots.get(key)
        self.threads.finish_all()
        self.bus.publish({"user:a"})
        assert (snapshots.ready("a"), snapshots.ready("b")) == (None, "b2")
        for key in ("c", "d"):
            snapshots.get(key)
        self.threads.finish_all()
        assert (snapshots.ready("b"), snapshots.ready("d")) == (None, "d4")
        self.bus.publish({"all"})
        assert snapshots.ready("d") is None

    def test_keys_are_dropped_by_what_their_values_name(self) -> None:
        named = NamedIn[str]("of:", lambda value: (f"of:{value[0]}",))
        snapshots = KeyedSnapshots(self.db, self.bus, self.build, {"all"}, named_in=named)
        for key in ("a", "b"):
            snapshots.get(key)
        self.threads.finish_all()
        self.bus.publish({"of:a", "else"})
        assert [snapshots.ready(key) for key in "ab"] == [None, "b2"]

    def test_what_is_being_built_may_be_named_by_any_of_them(self) -> None:
        named = NamedIn[str]("of:", lambda value: (f"of:{value[0]}",))
        snapshots = KeyedSnapshots(self.db, self.bus, self.build, {"all"}, named_in=named)
        before = self.asked(snapshots.get("a"))
        self.bus.publish({"else"})
        assert self.asked(snapshots.get("a")) is not before
        assert len(self.threads.pending) == 1
        self.bus.publish({"of:b"})
        after = self.asked(snapshots.get("a"))
        self.threads.finish_all()
        assert (self.successResultOf(before), self.successResultOf(after)) == ("a1", "a2")
        assert snapshots.ready("a") == "a2"

    def test_keys_are_kept_that_fit_together(self) -> None:
        def build(_conn: object, key: str) -> str:
            return key * 10

        snapshots = KeyedSnapshots(self.db, self.bus, build, {"all"}, weigh=len, room=50)

        def ask(*keys: str) -> list[str | None]:
            for key in keys:
                waiting = self.asked(snapshots.get(key))
                self.threads.finish_all()
                assert self.successResultOf(waiting) == key * 10
            return [snapshots.ready(key) for key in ("a", "b", "c")]

        assert ask("a", "b") == ["a" * 10, "b" * 10, None]
        snapshots.ready("a")
        assert ask("c") == ["a" * 10, None, "c" * 10]
        assert ask("more than fits") == [None, None, None]
        self.bus.publish({"all"})
        assert ask("a", "b") == ["a" * 10, "b" * 10, None]

    def test_a_question_takes_room_as_its_answer_does(self) -> None:
        snapshots = KeyedSnapshots(self.db, self.bus, self.build, {"all"}, weigh=len, room=25_000)
        keys = [f"{number}{'x' * 4000}" for number in range(3)]
        for key in keys:
            snapshots.get(key)
            self.threads.finish_all()
        assert [snapshots.ready(key) is not None for key in keys] == [False, False, True]

    def test_what_was_overtaken_takes_no_room(self) -> None:
        snapshots = KeyedSnapshots(self.db, self.bus, self.build, {"all"}, weigh=len, room=28)
        for _ in range(5):
            snapshots.get("a")
            self.bus.publish({"all"})
            self.threads.finish_all()
        for key in ("a", "b"):
            snapshots.get(key)
            self.threads.finish_all()
        assert (snapshots.ready("a"), snapshots.ready("b")) == ("a6", "b7")
