"""Transactions in threads, and other programs' writes, on a real SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from sqlalchemy import Connection, text

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import EVERYTHING, Bus, touch


@pytest.fixture
def heard() -> list[frozenset[str]]:
    return []


@pytest.fixture
def db(path: Path, heard: list[frozenset[str]]) -> Iterator[Database]:
    bus = Bus()
    bus.subscribe(heard.append)
    engines = open_engines(f"sqlite:///{path}")
    database = Database(engines, bus, write=start_inline, read=start_inline)
    engines.start_watch()
    yield database
    database.close()


def add(conn: Connection, name: str, *topics: str) -> None:
    conn.execute(text("INSERT INTO brackets (name) VALUES (:name)"), {"name": name})
    touch(conn, *topics)


def count(conn: Connection) -> int:
    return int(conn.execute(text("SELECT count(*) FROM brackets")).scalar_one())


def result_of(deferred: object) -> object:
    results: list[object] = []
    deferred.addBoth(results.append)  # type: ignore[attr-defined]
    return results[0]


def test_topics_are_told_after_the_commit_and_only_then(db: Database, heard: list[frozenset[str]]) -> None:
    def failing(conn: Connection) -> None:
        add(conn, "lost", "lost")
        raise LookupError

    result_of(db.run(failing))
    assert heard == []
    db.run(add, "kept", "kept")
    assert heard == [frozenset({"kept"})]
    assert result_of(db.read(count)) == 1


def test_our_own_writes_are_not_taken_for_others(db: Database, heard: list[frozenset[str]]) -> None:
    for name in "abc":
        db.run(add, name)
        db.notice_others()
    assert heard == []


def test_another_programs_write_is_noticed_at_the_next_look(
    db: Database, path: Path, heard: list[frozenset[str]]
) -> None:
    db.run(add, "ours")
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO brackets (name) VALUES ('theirs')")
    other.close()
    db.notice_others()
    db.notice_others()
    assert heard == [frozenset({EVERYTHING})]


def test_another_programs_write_before_ours_is_told_at_the_next_look(
    db: Database, path: Path, heard: list[frozenset[str]]
) -> None:
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO brackets (name) VALUES ('theirs')")
    other.close()
    db.run(add, "ours", "things")
    db.notice_others()
    db.notice_others()
    assert heard == [frozenset({"things"}), frozenset({EVERYTHING})]


def test_a_read_transaction_cannot_write(db: Database) -> None:
    failure = result_of(db.read(add, "never"))
    assert "readonly" in str(failure)
    assert result_of(db.read(count)) == 0


def test_foreign_keys_and_the_write_ahead_log_are_on(db: Database) -> None:
    def pragmas(conn: Connection) -> tuple[object, ...]:
        return tuple(
            conn.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("foreign_keys", "journal_mode", "synchronous")
        )

    assert result_of(db.run(pragmas)) == (1, "wal", 1)
    assert result_of(db.read(pragmas)) == (1, "wal", 1)


def test_a_second_process_that_holds_the_file_for_a_moment_is_waited_for(db: Database, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    release = Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    db.run(add, "waited")
    release.join()
    other.close()
    assert result_of(db.read(count)) == 1
