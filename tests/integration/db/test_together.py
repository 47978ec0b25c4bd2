"""Short transactions that share one on a real SQLite file, with a thread that works when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, func, select, text
from sqlalchemy.exc import IntegrityError
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ctfd_twisted.challenges.attempts import Outcome, attempts
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import PATIENCE, WAITING, Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.db.together import ALONE, ALONE_AT_ONCE, LARGEST, Alone
from ctfd_twisted.errors import Busy, Forbidden, NotFound
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
            self.step()

    def step(self) -> None:
        """Do what is there first."""
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


def add(conn: Connection, asked: Sequence[str], *, alone: bool = False) -> list[str | Exception | Alone]:
    """Store names: those in capitals are told as an error, those that begin with a question mark get to be alone."""
    outcomes: list[str | Exception | Alone] = []
    for name in asked:
        if name.isupper():
            outcomes.append(NotFound())
        elif name.startswith("?") and not alone:
            outcomes.append(ALONE)
        else:
            conn.execute(text("INSERT INTO things VALUES (:name)"), {"name": name})
            touch(conn, f"topic {name}")
            outcomes.append(name.upper())
    return outcomes


def add_one(conn: Connection, name: str) -> None:
    """The same for one, within another transaction."""
    add(conn, (name,))


def things(writer: Writer) -> list[str]:
    names = text("SELECT name FROM things ORDER BY rowid")
    return result_of(writer.db.read(lambda conn: list(conn.execute(names).scalars())))


def refused(one: Deferred[Any]) -> type[BaseException] | None:
    """What *one* has failed with."""
    failures: list[Any] = []
    one.addErrback(failures.append)
    return failures[0].type if failures else None


Put = Callable[[str], Deferred[str]]


@pytest.fixture
def put(writer: Writer) -> Put:
    return writer.db.together(add)


def test_those_who_wait_are_one_transaction_in_their_order(writer: Writer, put: Put) -> None:
    waiting = [put(name) for name in "cab"]
    writer.work()
    assert [result_of(one) for one in waiting] == ["C", "A", "B"]
    assert things(writer) == ["c", "a", "b"]
    assert writer.begun == 1
    assert writer.heard == [{"topic a", "topic b", "topic c"}]


def test_nobody_is_answered_before_all_are_committed_and_told(writer: Writer, put: Put) -> None:
    seen: list[tuple[list[str], int]] = []
    for name in "ab":
        put(name).addCallback(lambda _: seen.append((things(writer), len(writer.heard))))
    writer.work()
    assert seen == [(["a", "b"], 1)] * 2


def test_an_error_is_told_to_its_own_caller(writer: Writer, put: Put) -> None:
    waiting = [put(name) for name in "aBc"]
    writer.work()
    assert [refused(one) for one in waiting] == [None, NotFound, None]
    assert things(writer) == ["a", "c"]
    assert writer.begun == 1


def test_where_one_breaks_the_transaction_each_is_done_alone(writer: Writer, put: Put) -> None:
    waiting = [put(name) for name in "abac"]
    writer.work()
    assert [refused(one) for one in waiting] == [None, None, IntegrityError, None]
    assert things(writer) == ["a", "b", "c"]
    assert writer.heard == [{"topic a"}, {"topic b"}, {"topic c"}]


def test_one_that_breaks_its_own_transaction_is_not_done_twice(writer: Writer, put: Put) -> None:
    writer.now(add_one, "a")
    again = put("a")
    writer.work()
    assert refused(again) is IntegrityError
    assert writer.begun == 1


def test_where_the_commit_fails_each_is_done_alone(writer: Writer) -> None:
    writer.now(
        lambda conn: conn.execute(
            text("CREATE TABLE owned (user_id INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED)")
        ).close()
    )

    def own(conn: Connection, asked: Sequence[int | None], *, alone: bool) -> list[int | None]:
        del alone
        for user in asked:
            conn.execute(text("INSERT INTO owned VALUES (:user)"), {"user": user})
        return list(asked)

    own_it = writer.db.together(own)
    waiting = [own_it(user) for user in (None, 1_000_000, None)]
    writer.work()
    assert [refused(one) for one in waiting] == [None, IntegrityError, None]
    owned = text("SELECT count(*) FROM owned")
    assert result_of(writer.db.read(lambda conn: conn.execute(owned).scalar())) == 2


def test_all_are_sent_away_where_the_database_cannot_be_used(writer: Writer) -> None:
    def fill_the_disk(conn: Connection, asked: Sequence[str], *, alone: bool) -> list[str | Exception | Alone]:
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        conn.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        return add(conn, [name * 1_000_000 for name in asked], alone=alone)

    fill = writer.db.together(fill_the_disk)
    waiting = [fill("a"), fill("b")]
    writer.work()
    assert [refused(one) for one in waiting] == [Busy, Busy]
    assert things(writer) == []


def test_who_would_keep_others_waiting_is_done_alone_and_later(writer: Writer, put: Put) -> None:
    told: list[str] = []
    for name in ("?first", "a", "b"):
        put(name).addCallback(told.append)
    writer.work()
    assert told == ["A", "B", "?FIRST"]
    assert things(writer) == ["a", "b", "?first"]
    assert writer.begun == 2
    assert writer.heard == [{"topic a", "topic b"}, {"topic ?first"}]


def test_one_that_is_done_alone_may_fail_alone(writer: Writer, put: Put) -> None:
    writer.now(lambda conn: add(conn, ("?there",), alone=True))
    waiting = [put("?there"), put("a")]
    writer.work()
    assert [refused(one) for one in waiting] == [IntegrityError, None]


def test_who_leaves_before_is_not_begun(writer: Writer, put: Put) -> None:
    leaving, staying = put("a"), put("b")
    leaving.cancel()
    writer.work()
    assert refused(leaving) is CancelledError
    assert result_of(staying) == "B"
    assert things(writer) == ["b"]


def test_who_comes_meanwhile_is_next(writer: Writer, put: Put) -> None:
    def one_more(conn: Connection) -> None:
        add_one(conn, "a")
        put("b")
        put("c")

    writer.db.run(one_more)
    writer.work()
    assert things(writer) == ["a", "b", "c"]
    assert writer.begun == 2


def test_no_more_share_one_than_is_bearable(writer: Writer, put: Put) -> None:
    names = [f"a{number:03}" for number in range(2 * LARGEST + 1)]
    for name in names:
        put(name)
    writer.work()
    assert things(writer) == names
    assert writer.begun == 3


def test_too_many_and_too_late_are_sent_away(writer: Writer, put: Put) -> None:
    waiting = [put(f"a{number}") for number in range(WAITING)]
    with pytest.raises(Busy):
        put("one more")
    writer.clock.advance(PATIENCE + 1)
    writer.work()
    assert {refused(one) for one in waiting} == {Busy}
    assert things(writer) == []
    assert writer.db.writes.waiting == 0
    again = put("again")
    writer.work()
    assert result_of(again) == "AGAIN"


def test_who_waits_too_long_is_sent_away_though_no_turn_comes_in_time(writer: Writer, put: Put) -> None:
    early = put("a")
    writer.clock.advance(PATIENCE - 1)
    later = put("b")
    writer.clock.advance(2)
    writer.step()
    assert refused(early) is Busy
    assert not later.called
    writer.work()
    assert result_of(later) == "B"
    assert things(writer) == ["b"]


def test_who_leaves_before_being_done_alone_is_not_begun(writer: Writer, put: Put) -> None:
    leaving = put("?a")
    writer.step()
    leaving.cancel()
    writer.work()
    assert refused(leaving) is CancelledError
    assert things(writer) == []
    assert writer.db.writes.waiting == 0


def test_those_who_are_done_alone_leave_threads_to_the_others(writer: Writer, put: Put) -> None:
    alone = [put(f"?{number}") for number in range(ALONE_AT_ONCE + 3)]
    writer.step()
    put("b")
    alone[-1].cancel()
    writer.work()
    begun = [f"?{number}" for number in range(ALONE_AT_ONCE)]
    assert things(writer) == [*begun, "b", f"?{ALONE_AT_ONCE}", f"?{ALONE_AT_ONCE + 1}"]
    assert [refused(one) for one in alone] == [None] * (ALONE_AT_ONCE + 2) + [CancelledError]


def test_who_waits_too_long_to_be_done_alone_is_sent_away(writer: Writer, put: Put) -> None:
    alone = [put(f"?{number}") for number in range(ALONE_AT_ONCE + 1)]
    writer.step()
    writer.step()
    writer.clock.advance(PATIENCE + 1)
    writer.work()
    assert [refused(one) for one in alone] == [None] + [Busy] * ALONE_AT_ONCE
    again = put("?again")
    writer.work()
    assert result_of(again) == "?AGAIN"


def test_attempts_see_those_before_them(writer: Writer) -> None:
    def prepare(conn: Connection) -> tuple[int, int, int, int]:
        write_config(conn, {"setup": True, "user_mode": "users", "incorrect_submissions_per_min": 100})
        user, challenge = a_user(conn), a_challenge(conn, max_attempts=3)
        other = a_challenge(conn)
        for number in (challenge, other):
            a_flag(conn, number, "right")
        return user, challenge, other, a_user(conn, banned=True)

    user, challenge, other, banned = writer.now(prepare)
    answer = writer.db.together(attempts)

    def send(number: int, text: str, who: int = user) -> Deferred[Outcome]:
        return answer(NewAttempt(NOW, who, False, number, text, "::1"))

    gone, shut = send(1_000_000, "right"), send(other, "right", banned)
    waiting = [send(challenge, "wrong") for _ in range(8)] + [send(other, "right") for _ in range(8)]
    writer.work()
    assert (refused(gone), refused(shut)) == (NotFound, Forbidden)
    assert [result_of(one).status for one in waiting] == [
        *["incorrect"] * 3, *["ratelimited"] * 5, "correct", *["already_solved"] * 7,
    ]  # fmt: skip
    assert writer.begun == 2  # and one for the banned
    count = partial(lambda table, conn: conn.execute(select(func.count()).select_from(table)).scalar_one())
    assert result_of(writer.db.read(partial(count, solves))) == 1
    assert result_of(writer.db.read(partial(count, submissions))) == 4
