"""Where news in an SQLite file is lost, everything may have changed; and then it goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.testing import result_of
from tests.integration.db.sharing import ALL, House, outside, rows


def test_news_do_not_pile_up_and_who_has_missed_some_knows_nothing(one: House, other: House, path: Path) -> None:
    def tell_many(conn: Connection) -> None:
        conn.execute(
            text(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                """INSERT INTO ctfp_news (node, topics) SELECT 'third', '["user:1"]' FROM n"""
            )
        )

    result_of(one.db.run(tell_many))
    assert 1024 <= rows(path, "SELECT count(*) FROM ctfp_news")[0][0] < 1024 + 128
    assert other.look() == [ALL]
    one.look()
    one.write("accounts")
    assert other.look() == [frozenset({"accounts"})]


def start_anew(path: Path) -> None:
    """What a process does first that starts on the file."""
    engines = open_engines(f"sqlite:///{path}")
    migrate(engines.write_engine)
    engines.close()


def emptied(path: Path) -> None:
    outside(path, "DELETE FROM ctfp_news")


def emptied_and_told_anew(path: Path) -> None:
    outside(path, "DELETE FROM ctfp_news", """INSERT INTO ctfp_news VALUES (1, 'third', '["accounts"]')""")


def one_row_taken_out(path: Path) -> None:
    rows = ", ".join(f"""({number}, 'third', '["accounts"]')""" for number in (2, 3, 4))
    outside(path, f"INSERT INTO ctfp_news VALUES {rows}", "DELETE FROM ctfp_news WHERE id = 3")  # noqa: S608 - numbers


def nonsense_told(path: Path) -> None:
    outside(path, "INSERT INTO ctfp_news VALUES (2, 'third', 'nonsense')")


def altered(path: Path) -> None:
    outside(path, "ALTER TABLE users ADD COLUMN shoe_size INTEGER")


def vacuumed(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as program:
        program.execute("VACUUM")


@pytest.mark.parametrize(
    "change", [emptied, emptied_and_told_anew, one_row_taken_out, nonsense_told, altered, vacuumed]
)
def test_what_can_not_be_told_is_everything_and_then_it_goes_on(
    one: House, other: House, path: Path, change: Callable[[Path], None]
) -> None:
    one.write("config")
    assert other.look() == [frozenset({"config"})]
    change(path)
    assert other.look() == [ALL]
    one.write("accounts")
    assert other.look() == [frozenset({"accounts"})]


def test_a_backup_that_is_put_back_is_everything(one: House, other: House, path: Path, tmp_path: Path) -> None:
    one.write("config")
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(tmp_path / "backup")) as backup:
        now.backup(backup)
        one.write("accounts")
        other.look()
        backup.backup(now)
    assert other.look() == [ALL]
    one.look()
    one.write("accounts")
    assert other.look() == [frozenset({"accounts"})]


def test_without_the_row_that_triggers_change_everything_may_have_changed(one: House, other: House, path: Path) -> None:
    outside(path, "DELETE FROM ctfp_others")
    assert one.look() == [ALL]
    outside(path, "UPDATE config SET value = 'x'")
    assert one.look() == [ALL]
    start_anew(path)
    assert one.look() == [ALL]
    other.write("accounts")
    assert one.look() == [frozenset({"accounts"})]


MADE_ANEW = "CREATE TABLE brackets (id INTEGER PRIMARY KEY, name TEXT, description TEXT, type TEXT)"


@pytest.mark.parametrize(
    "change",
    [("DROP TABLE brackets", MADE_ANEW), ("DROP TRIGGER ctfp_silence",), ("DROP TRIGGER ctfp_notice_brackets_insert",)],
)
def test_what_has_lost_its_triggers_is_watched_again_from_the_next_start(
    one: House, other: House, path: Path, change: tuple[str, ...]
) -> None:
    outside(path, *change)
    assert one.look() == [ALL]
    outside(path, "INSERT INTO brackets (name) VALUES ('x')")
    assert one.look() == [ALL]
    other.write("accounts")  # as good as what another program writes: who it was can't be told
    assert one.look() == [ALL]
    start_anew(path)
    assert one.look() == [ALL]
    outside(path, "INSERT INTO brackets (name) VALUES ('x')")
    assert one.look() == [ALL]
    other.write("accounts")
    assert one.look() == [frozenset({"accounts"})]


def test_nothing_is_known_while_the_news_can_not_be_read(one: House, other: House, path: Path) -> None:
    outside(path, "ALTER TABLE ctfp_news RENAME TO hidden")
    assert (one.look(), one.look()) == ([ALL], [ALL])
    outside(path, "ALTER TABLE hidden RENAME TO ctfp_news")
    assert one.look() == [ALL]
    other.write("accounts")
    assert one.look() == [frozenset({"accounts"})]


def test_a_look_does_not_wait_for_who_writes(one: House, other: House, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as program:
        other.write("accounts")
        program.execute("BEGIN IMMEDIATE")
        program.execute("UPDATE ctfp_others SET step = 1 WHERE id = 1")
        assert one.look() == [frozenset({"accounts"})]
        program.execute("COMMIT")
    assert one.look() == [ALL]
