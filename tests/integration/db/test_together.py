"""Short transactions that share one on a real SQLite file, with a thread that works when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, func, select, text
from sqlalchemy.exc import IntegrityError
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ctfd_twisted.challenges.attempts import Outcome, attempt
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import PATIENCE, WAITING, Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.db.together import LARGEST
from ctfd_twisted.errors import Busy, NotFound
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_user

NOW = datetime(2026, 3, 14, tzinfo=UTC)


class Writer:
    """A thread with work before it, and what its database tells."""

    def __init__(self, url: str) -> None:
        self._work: list[tuple[Callable[[], Any], Done]] = []
        self.clock = Clock()
        self.begun = 0
        self.heard: list[set[str]] = []
        bus = Bus()
        bus.subscribe(lambda topics: self.heard.append(set(topics)))
        engines = open_engines(url)
        self.db = Database(
            engines, bus, write=lambda *work: self._work.append(work), read=start_inline, seconds=self.clock.seconds
        )
        event.listen(engines.write_engine, "begin", self._count)

    def _count(self, _: Connection) -> None:
        self.begun += 1

    def work(self) -> None:
        """Do all that is there, and what comes of it."""
        while self._work:
            start_inline(*self._work.pop(0))

    def now(self, fn: Callable[..., Any], *args: Any) -> Any:
        """The value of one transaction."""
        done = self.db.run(fn, *args)
        self.work()
        self.begun, self.heard[:] = 0, []
        return result_of(done)


@pytest.fixture
def writer(sqlite_template: Path, tmp_path: Path) -> Iterator[Writer]:
    path = tmp_path / "platform.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    one = Writer(f"sqlite:///{path}")
    one.now(lambda conn: conn.execute(text("CREATE TABLE things (name TEXT UNIQUE)")).close())
    yield one
    one.db.close()


def add(conn: Connection, name: str, *topics: str) -> str:
    touch(conn, *topics)
    conn.execute(text("INSERT INTO things VALUES (:name)"), {"name": name})
    return name.upper()


def add_and_fail(conn: Connection, name: str) -> str:
    add(conn, name, "never")
    raise NotFound


def things(writer: Writer) -> list[str]:
    names = text("SELECT name FROM things ORDER BY rowid")
    return result_of(writer.db.read(lambda conn: list(conn.execute(names).scalars())))


def refused(one: Deferred[Any]) -> type[BaseException] | None:
    """What *one* has failed with."""
    failures: list[Any] = []
    one.addErrback(failures.append)
    return failures[0].type if failures else None


def test_those_who_wait_are_one_transaction_in_their_order(writer: Writer) -> None:
    waiting = [writer.db.run_together(add, name, f"topic {name}") for name in "cab"]
    writer.work()
    assert [result_of(one) for one in waiting] == ["C", "A", "B"]
    assert things(writer) == ["c", "a", "b"]
    assert writer.begun == 1
    assert writer.heard == [{"topic a", "topic b", "topic c"}]


def test_nobody_is_answered_before_all_are_committed_and_told(writer: Writer) -> None:
    seen: list[tuple[list[str], int]] = []
    for name in "ab":
        one = writer.db.run_together(add, name, name)
        one.addCallback(lambda _: seen.append((things(writer), len(writer.heard))))
    writer.work()
    assert seen == [(["a", "b"], 1)] * 2


def test_what_raises_is_undone_alone(writer: Writer) -> None:
    calls = [(add, "a"), (add_and_fail, "b"), (add, "a"), (add, "c")]
    waiting = [writer.db.run_together(fn, name) for fn, name in calls]
    writer.work()
    assert [refused(one) for one in waiting] == [None, NotFound, IntegrityError, None]
    assert things(writer) == ["a", "c"]
    assert writer.begun == 1
    assert writer.heard == []


def test_where_the_commit_fails_each_is_tried_for_itself(writer: Writer) -> None:
    writer.now(
        lambda conn: conn.execute(
            text("CREATE TABLE owned (user_id INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED)")
        ).close()
    )

    def own_nobodys(conn: Connection) -> None:
        conn.execute(text("INSERT INTO owned VALUES (1000000)"))

    waiting: list[Deferred[Any]] = [writer.db.run_together(add, "a", "a"), writer.db.run_together(own_nobodys)]
    waiting.append(writer.db.run_together(add, "b"))
    writer.work()
    assert [refused(one) for one in waiting] == [None, IntegrityError, None]
    assert things(writer) == ["a", "b"]
    assert writer.heard == [{"a"}]


def test_all_are_sent_away_where_the_database_cannot_be_used(writer: Writer) -> None:
    def fill_the_disk(conn: Connection) -> None:
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        conn.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        add(conn, "x" * 1_000_000)

    waiting: list[Deferred[Any]] = [writer.db.run_together(add, "a"), writer.db.run_together(fill_the_disk)]
    writer.work()
    assert [refused(one) for one in waiting] == [Busy, Busy]
    assert things(writer) == []


def test_who_leaves_before_is_not_begun(writer: Writer) -> None:
    leaving, staying = (writer.db.run_together(add, name) for name in "ab")
    leaving.cancel()
    writer.work()
    assert refused(leaving) is CancelledError
    assert result_of(staying) == "B"
    assert things(writer) == ["b"]


def test_who_comes_meanwhile_is_next(writer: Writer) -> None:
    def one_more(conn: Connection) -> None:
        add(conn, "a")
        writer.db.run_together(add, "b")

    writer.db.run_together(one_more)
    writer.work()
    assert things(writer) == ["a", "b"]
    assert writer.begun == 2


def test_no_more_share_one_than_is_bearable(writer: Writer) -> None:
    names = [f"{number:03}" for number in range(2 * LARGEST + 1)]
    for name in names:
        writer.db.run_together(add, name)
    writer.work()
    assert things(writer) == names
    assert writer.begun == 3


def test_too_many_and_too_late_are_sent_away(writer: Writer) -> None:
    waiting = [writer.db.run_together(add, str(number)) for number in range(WAITING)]
    with pytest.raises(Busy):
        writer.db.run_together(add, "one more")
    writer.clock.advance(PATIENCE + 1)
    writer.work()
    assert {refused(one) for one in waiting} == {Busy}
    assert things(writer) == []
    assert writer.db.writes.waiting == 0
    again = writer.db.run_together(add, "again")
    writer.work()
    assert result_of(again) == "AGAIN"


def test_an_attempt_sees_those_before_it(writer: Writer) -> None:
    def prepare(conn: Connection) -> tuple[int, int, int]:
        write_config(conn, {"setup": True, "user_mode": "users", "incorrect_submissions_per_min": 100})
        user, challenge = a_user(conn), a_challenge(conn, max_attempts=3)
        other = a_challenge(conn)
        for number in (challenge, other):
            a_flag(conn, number, "right")
        return user, challenge, other

    user, challenge, other = writer.now(prepare)

    def send(number: int, answer: str) -> Deferred[Outcome]:
        return writer.db.run_together(attempt, NOW, NewAttempt(user, False, number, answer, "::1"))

    waiting = [send(challenge, "wrong") for _ in range(8)] + [send(other, "right") for _ in range(8)]
    writer.work()
    assert [result_of(one).status for one in waiting] == [
        *["incorrect"] * 3, *["ratelimited"] * 5, "correct", *["already_solved"] * 7,
    ]  # fmt: skip
    assert writer.begun == 1
    count = partial(lambda table, conn: conn.execute(select(func.count()).select_from(table)).scalar_one())
    assert result_of(writer.db.read(partial(count, solves))) == 1
    assert result_of(writer.db.read(partial(count, submissions))) == 4
