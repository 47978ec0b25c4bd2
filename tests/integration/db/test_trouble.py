"""Databases that can't be used for a while: what callers are told, what the log says, and that it passes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, text
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs

from ctfd_twisted.db.database import ASK_AGAIN, PATIENCE, Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.errors import Busy
from ctfd_twisted.testing import result_of


def add(conn: Connection, value: str = "x") -> None:
    conn.execute(text("INSERT INTO config (key, value) VALUES ('test', :value)"), {"value": value})


def rows(conn: Connection) -> int:
    return int(conn.execute(text("SELECT count(*) FROM config WHERE key = 'test'")).scalar_one())


def refused(waiting: Deferred[Any]) -> int:
    """After how many seconds to ask again somebody is told whose transaction finds no database."""
    with pytest.raises(Busy) as raised:
        result_of(waiting)
    return raised.value.retry_after


def said(logs: Any) -> list[tuple[LogLevel, str]]:
    return [(event["log_level"], event["doing"]) for event in logs if "doing" in event]


@pytest.fixture
def file(sqlite_template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sqlite_template, tmp_path / "platform.sqlite"))


@pytest.fixture
def lite(file: Path) -> Iterator[Database]:
    """An SQLite file; ten seconds pass with every look at the clock."""
    engines = open_engines(f"sqlite:///{file}")
    yield Database(engines, Bus(), write=start_inline, read=start_inline, seconds=count(0, 10).__next__)
    engines.close()


def test_a_full_disk_is_said_once_and_passes(lite: Database) -> None:
    with lite.engines.writer() as conn, capturedLogs() as logs:
        conn.exec_driver_sql("PRAGMA max_page_count=1")  # it becomes what the file has already
        conn.rollback()
        assert [refused(lite.run(add, "x" * 100_000)) for _ in range(3)] == [ASK_AGAIN] * 3
        assert result_of(lite.read(rows)) == 0
        conn.exec_driver_sql("PRAGMA max_page_count=1000000")
        conn.rollback()
        result_of(lite.run(add, "x" * 100_000))
        result_of(lite.run(add))
        assert said(logs) == [(LogLevel.error, "written to"), (LogLevel.info, "written to")]
    assert result_of(lite.read(rows)) == 2


def test_a_file_that_is_locked_for_long_is_not_waited_for_again(lite: Database, file: Path) -> None:
    calls: list[None] = []

    def write(conn: Connection) -> None:
        calls.append(None)
        add(conn)

    with lite.engines.writer() as conn:
        conn.exec_driver_sql("PRAGMA busy_timeout=0")
        conn.rollback()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert refused(lite.run(write)) == ASK_AGAIN
        assert result_of(lite.read(rows)) == 0
        other.execute("COMMIT")
    result_of(lite.run(write))
    assert len(calls) == 1


@pytest.mark.parametrize("lane", ["run", "read"])
def test_what_has_waited_for_too_long_is_not_begun(file: Path, lane: str) -> None:
    waiting: list[tuple[Callable[[], Any], Done]] = []
    clock = Clock()
    engines = open_engines(f"sqlite:///{file}")
    start = lambda work, done: waiting.append((work, done))  # noqa: E731 - a thread pool in one line
    db = Database(engines, Bus(), write=start, read=start, seconds=clock.seconds)
    begun: list[Connection] = []
    first = getattr(db, lane)(begun.append)
    clock.advance(PATIENCE)
    second = getattr(db, lane)(begun.append)
    clock.advance(1)
    for work, done in waiting:
        start_inline(work, done)
    assert refused(first) == ASK_AGAIN
    assert result_of(second) is None
    assert len(begun) == 1
    engines.close()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a migrated PostgreSQL database of its own."""
    postgresql = request.getfixturevalue("postgresql")
    name = postgresql.create(request.getfixturevalue("postgresql_template"))
    yield postgresql.url(name)
    postgresql.drop(name)


@pytest.fixture
def post(server: str) -> Iterator[Database]:
    engines = open_engines(server)
    yield Database(engines, Bus(), write=start_inline, read=start_inline, seconds=count(0, 10).__next__)
    engines.close()


@pytest.mark.postgresql
def test_connections_that_the_server_has_ended_are_replaced(server: str) -> None:
    engines = open_engines(server)
    post = Database(engines, Bus(), write=start_inline, read=start_inline)
    asks: list[Callable[[], Deferred[Any]]] = [lambda: post.run(add), lambda: post.read(rows)]
    for ask in asks:
        with engines.reader(), engines.reader():
            pass  # two that lie in the pool
        with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        result_of(ask())
    assert result_of(post.read(rows)) == 1
    engines.close()


@pytest.mark.postgresql
def test_a_connection_that_can_not_leave_the_pipeline_is_replaced(server: str) -> None:
    """As where the server ends it while many statements are under way, and libpq still takes it for a good one."""
    engines = open_engines(server)
    post = Database(engines, Bus(), write=start_inline, read=start_inline)
    numbers = Ready(text("SELECT CAST(:number AS INTEGER)"))
    used: list[object] = []

    def ask(conn: Connection) -> list[int]:
        driver: Any = conn.connection.dbapi_connection
        used.append(driver)
        if len(used) == 1:
            driver.pgconn.enter_pipeline_mode()
            driver.pgconn.send_query_params(b"SELECT 1", None)
            driver.pgconn.pipeline_sync()
        return [row[0] for (row,) in numbers.each(conn, [{"number": 5}, {"number": 6}])]

    assert result_of(post.run(ask)) == [5, 6]
    assert used[0] is not used[1]
    engines.close()


@pytest.mark.postgresql
def test_a_row_that_is_locked_for_long_is_not_waited_for_again(post: Database, server: str) -> None:
    result_of(post.run(add))
    calls: list[None] = []

    def write(conn: Connection) -> None:
        calls.append(None)
        conn.execute(text("SET LOCAL lock_timeout = '1ms'"))
        conn.execute(text("UPDATE config SET value = 'y' WHERE key = 'test'"))

    with psycopg.connect(server.replace("+psycopg", "")) as other:
        other.execute("SELECT * FROM config WHERE key = 'test' FOR UPDATE")
        assert refused(post.run(write)) == ASK_AGAIN
    assert len(calls) == 1
    result_of(post.run(write))


@pytest.mark.postgresql
def test_a_mistake_of_ours_is_no_trouble_of_the_database(post: Database) -> None:
    with pytest.raises(Exception, match="nonsense"):
        result_of(post.run(lambda conn: conn.execute(text("SELECT nonsense"))))


def test_a_server_that_is_away_is_said_once_for_each_thing_that_fails() -> None:
    engines = open_engines("postgresql://nobody@127.0.0.1:1/none")
    db = Database(engines, Bus(), write=start_inline, read=start_inline)
    with capturedLogs() as logs:
        assert [refused(ask) for ask in (db.read(rows), db.run(add), db.read(rows), db.run(add))] == [ASK_AGAIN] * 4
    assert said(logs) == [(LogLevel.error, "read"), (LogLevel.error, "written to")]
    engines.close()
