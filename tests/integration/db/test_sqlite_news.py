"""Those who share an SQLite file hear of each other's commits what NOTIFY and triggers would tell them."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, inspect, text

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrations import ctfd_387, own_0001
from ctfd_twisted.db.notices import EVERYTHING, Bus
from ctfd_twisted.db.sqlite_news import LONGEST, SQLiteWatch
from ctfd_twisted.testing import result_of
from tests.integration.db.sharing import ALL, House, add, outside, rows


def test_each_hears_the_topics_of_the_others_and_none_of_its_own(one: House, other: House) -> None:
    one.write("solved:3", "points:user:7")
    one.write("user:8")
    assert one.look() == []
    assert other.look() == [frozenset({"solved:3", "points:user:7", "user:8"})]
    assert other.look() == []


def test_a_commit_that_touches_nothing_tells_nothing(one: House, other: House) -> None:
    one.write()
    assert (one.look(), other.look()) == ([], [])


def test_what_is_undone_is_not_told(one: House, other: House) -> None:
    def fail(conn: Connection) -> None:
        add(conn, "users")
        raise LookupError

    with pytest.raises(LookupError):
        result_of(one.db.run(fail))
    one.write("accounts")
    assert other.look() == [frozenset({"accounts"})]


def test_what_came_before_a_process_began_to_look_is_no_news(one: House, path: Path) -> None:
    one.write("accounts")
    late = House(path)
    assert late.look() == []
    one.write("config")
    assert late.look() == [frozenset({"config"})]
    late.db.close()


def test_more_topics_than_are_stored_are_told_as_everything(one: House, other: House) -> None:
    one.write(*(f"session:{number:064x}" for number in range(LONGEST // 64)))
    assert other.look() == [ALL]


def test_a_command_that_does_not_look_around_is_heard(one: House, path: Path) -> None:
    command = Database(open_engines(f"sqlite:///{path}"), Bus(), write=start_inline, read=start_inline)
    result_of(command.run(add, "tokens"))
    command.close()
    assert one.look() == [frozenset({"tokens"})]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO users (name) VALUES ('a')",
        "INSERT OR IGNORE INTO users (id, name) VALUES (9, 'a'), (1, 'b')",
        "REPLACE INTO users (id, name) VALUES (1, 'c')",
        "UPDATE users SET hidden = 1",
        "UPDATE OR FAIL users SET name = 'd' WHERE id = 1",
        "DELETE FROM users",
        "DELETE FROM users WHERE id = 1",
        "INSERT INTO ctfp_secrets VALUES ('a', 'b')",
    ],
)
def test_another_programs_statement_is_told_as_everything(one: House, path: Path, statement: str) -> None:
    result_of(one.db.run(lambda conn: conn.execute(users.insert().values(id=1, name="first"))))
    outside(path, statement)
    assert one.look() == [ALL]
    assert one.look() == []
    outside(path, "UPDATE challenges SET value = 1")  # there are none
    assert one.look() == []


def test_every_table_but_those_that_tell_is_watched(path: Path) -> None:
    names = {name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names >= {*ctfd_387.schema.tables, *own_0001.TABLES}
    for kind in ("insert", "update", "delete"):
        watched = rows(
            path,
            f"SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ctfp_notice_%_{kind}' "  # noqa: S608 - a word
            f"AND sql LIKE '%AFTER {kind} ON %'",
        )
        assert names - {name for (name,) in watched} == {"ctfp_version", "ctfp_news", "ctfp_others"}


def test_a_program_like_ctfd_writes_as_ever(one: House, path: Path) -> None:
    """Ids, counts of rows and cascades are what they would be without triggers."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as conn:
        conn.exec_driver_sql("PRAGMA foreign_keys=ON")
        assert conn.execute(users.insert().values(name="a")).inserted_primary_key == (1,)
        assert conn.execute(users.insert().values(name="b").returning(users.c.id)).scalar_one() == 2
        assert conn.execute(users.update().values(hidden=True)).rowcount == 2
        conn.exec_driver_sql("INSERT INTO tokens (user_id, value) VALUES (2, 'x')")
        assert conn.execute(users.delete().where(users.c.id == 2)).rowcount == 1
        assert conn.exec_driver_sql("SELECT count(*) FROM tokens").scalar_one() == 0
    engine.dispose()
    assert one.look() == [ALL]


def test_many_rows_of_another_program_leave_no_rows_of_news(one: House, path: Path) -> None:
    before = rows(path, "SELECT count(*) FROM ctfp_news")
    outside(path, *["INSERT INTO users (name) VALUES ('a')"] * 500, "DELETE FROM users")
    assert rows(path, "SELECT count(*) FROM ctfp_news") == before
    assert one.look() == [ALL]


def test_another_programs_write_between_ours_and_a_siblings(one: House, other: House, path: Path) -> None:
    one.write("config")
    outside(path, "UPDATE config SET value = 'x'")
    other.write("accounts")
    assert (one.look(), other.look()) == ([ALL], [ALL])
    other.write("accounts")
    assert (one.look(), other.look()) == ([frozenset({"accounts"})], [])


def test_our_own_connections_change_no_mark(path: Path, one: House) -> None:
    before = rows(path, "SELECT * FROM ctfp_others")

    def write(conn: Connection) -> None:
        for table in inspect(conn).get_table_names():
            conn.execute(text(f"UPDATE {table} SET rowid = rowid"))  # noqa: S608 - a name from the database
        conn.execute(text("INSERT INTO users (id, name) VALUES (1, 'a')"))
        conn.execute(text("REPLACE INTO users (id, name) VALUES (1, 'b')"))
        assert conn.execute(text("UPDATE users SET hidden = 1")).rowcount == 1
        assert conn.execute(text("DELETE FROM users")).rowcount == 1

    result_of(one.db.run(write))
    assert rows(path, "SELECT * FROM ctfp_others") == before
    assert one.look() == []


def test_a_file_that_holds_no_news_is_not_watched(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.Error, match="ctfp_news"):
        SQLiteWatch(str(tmp_path / "empty.sqlite"), "node")


TOPICS = st.frozensets(st.sampled_from(["config", "accounts", "user:1", "points:user:1", "solved:2"]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from([0, 1, 2]), TOPICS),
        st.tuples(st.just("look"), st.sampled_from([0, 1, 2]), st.none()),
        st.tuples(st.just("outside"), st.none(), st.none()),
        st.tuples(st.just("vacuum"), st.none(), st.none()),
    ),
    max_size=40,
)


@given(steps=STEPS)
@settings(max_examples=40)
def test_each_look_tells_exactly_what_others_committed(
    steps: list[tuple[str, Any, Any]], sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = Path(shutil.copy(sqlite_template, tmp_path_factory.mktemp("news") / "ctf.sqlite"))
    houses = [House(path) for _ in range(3)]
    unheard: list[set[str]] = [set() for _ in houses]
    for step, who, topics in [*steps, *(("look", who, None) for who in range(3))]:
        if step == "write":
            houses[who].write(*topics)
            for number, waiting in enumerate(unheard):
                if number != who:
                    waiting.update(topics)
        elif step == "look":
            expected = ALL if EVERYTHING in unheard[who] else frozenset(unheard[who])
            assert houses[who].look() == ([expected] if expected else [])
            unheard[who].clear()
        else:
            outside(path, "VACUUM" if step == "vacuum" else "INSERT INTO config (key) VALUES ('x')")
            for waiting in unheard:
                waiting.add(EVERYTHING)
    for house in houses:
        house.db.close()
