"""On PostgreSQL the database itself tells of changes by programs that are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile

import msgspec
import psycopg
import pytest

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import CHANNEL, open_engines
from ctfd_twisted.db.notices import EVERYTHING, Bus, touch
from ctfd_twisted.testing import result_of

pytestmark = pytest.mark.postgresql


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a migrated PostgreSQL database of its own, as its own client library takes it."""
    server = request.getfixturevalue("postgresql")
    name = server.create(request.getfixturevalue("postgresql_template"))
    yield server.url(name).replace("+psycopg", "")
    server.drop(name)


def heard(database: str, statement: str, application: str) -> list[str]:
    """What a listener hears when a program called *application* runs *statement* in a transaction."""
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        with psycopg.connect(database, application_name=application) as conn:
            conn.execute(statement)
            conn.commit()
            conn.execute(f"NOTIFY {CHANNEL}, 'the end'")  # news arrives in the order of commits
        with closing(listener.notifies(timeout=30)) as notices:
            return list(takewhile("the end".__ne__, (notice.payload for notice in notices)))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO users (name) VALUES ('a'), ('b')",
        "UPDATE users SET hidden = true",
        "DELETE FROM users",
        "TRUNCATE users CASCADE",
    ],
)
def test_a_statement_of_another_program_is_told_with_its_table(database: str, statement: str) -> None:
    assert "table users" in heard(database, statement, "psql")


def test_a_statement_is_told_once_whatever_the_number_of_rows(database: str) -> None:
    assert heard(database, "INSERT INTO config (key) VALUES ('a'), ('b'), ('c')", "") == ["table config"]


def test_a_program_that_gives_no_name_is_heard(database: str) -> None:
    assert heard(database, "INSERT INTO ctfp_secrets VALUES ('a', 'b')", "") == ["table ctfp_secrets"]


def test_our_own_nodes_are_not_told_by_triggers(database: str) -> None:
    assert heard(database, "INSERT INTO users (name) VALUES ('a')", "ctfp:0123456789ab") == []


def test_every_table_but_our_version_is_watched(database: str) -> None:
    with psycopg.connect(database) as conn:
        watched = conn.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'ctfp_notice'").fetchall()
        tables = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert set(tables) - set(watched) == {("ctfp_version",)}


def test_a_change_that_is_rolled_back_is_not_told(database: str) -> None:
    assert heard(database, "BEGIN; DELETE FROM users; ROLLBACK", "psql") == []


def test_more_topics_than_a_notification_takes_are_told_as_everything(database: str) -> None:
    node = Database(open_engines(database), Bus(), write=start_inline, read=start_inline)
    here: list[frozenset[str]] = []
    node.bus.subscribe(here.append)
    many = frozenset(f"session:{number:064x}" for number in range(150))
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        result_of(node.run(touch, "accounts"))
        result_of(node.run(touch, *many))
        with closing(listener.notifies(timeout=30, stop_after=2)) as notices:
            told = [msgspec.json.decode(notice.payload)["topics"] for notice in notices]
    node.close()
    assert told == [["accounts"], [EVERYTHING]]
    assert here == [{"accounts"}, many]
