"""SQLite files of older CTFd, which CTFd never migrates, are completed; older PostgreSQL databases are sent to CTFd."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect, select, text

from ctfd_twisted.accounts.tables import teams
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge
from ctfd_twisted.db.adopt import CannotMigrate
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.tables import awards

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Engine]:
    """An engine on an event that CTFd 2.0 kept in SQLite."""
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((DATA / "ctfd-2.0-sqlite.sql").read_text())
    connection.close()
    opened = create_engine(f"sqlite:///{path}")
    yield opened
    opened.dispose()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a PostgreSQL database of a schema like CTFd's, but without our own mark."""
    postgresql = request.getfixturevalue("postgresql")
    name = postgresql.create(request.getfixturevalue("postgresql_template"))
    opened = create_engine(postgresql.url(name))
    with opened.begin() as conn:
        conn.execute(text("DROP TABLE ctfp_version"))
    yield opened
    opened.dispose()
    postgresql.drop(name)


def test_every_table_and_column_of_today_is_there(old: Engine) -> None:
    report = migrate(old)
    assert (report.found, report.from_revision) == ("ctfd", "8369118943a1")
    assert {"column challenges.logic", "column users.bracket_id", "column teams.captain_id", "table tokens"} <= set(
        report.added
    )
    with old.connect() as conn:
        for table in metadata.tables.values():
            conn.execute(select(table)).all()


def test_the_schema_is_todays_but_for_what_nobody_reads(old: Engine, described: Callable[[Connection], Any]) -> None:
    migrate(old)
    today = create_engine("sqlite://")
    migrate(today)
    with old.connect() as conn, today.connect() as model:
        found, wanted = described(conn), described(model)
    for name, table in wanted.items():
        columns = {column: (kind, nullable) for column, (kind, nullable, _) in found[name]["columns"].items()}
        assert columns.items() >= {c: (kind, nullable) for c, (kind, nullable, _) in table["columns"].items()}.items()
        assert found[name]["indexes"] == table["indexes"]
        assert found[name]["unique"] == table["unique"]
        assert found[name]["foreign keys"] == table["foreign keys"]
    today.dispose()


def test_no_row_and_no_column_is_lost(old: Engine) -> None:
    with old.connect() as conn:
        tables = inspect(conn).get_table_names()
        rows = {table: conn.execute(text(f"SELECT * FROM {table} ORDER BY 1")).mappings().all() for table in tables}  # noqa: S608 - a name from the database
    migrate(old)
    with old.connect() as conn:
        for table in set(tables) - {"alembic_version"}:
            columns = ", ".join(f'"{name}"' for name in rows[table][0]) if rows[table] else "*"
            kept = conn.execute(text(f"SELECT {columns} FROM {table} ORDER BY 1")).mappings().all()  # noqa: S608 - the same
            assert kept == rows[table]


def test_what_hangs_on_a_row_goes_with_it_as_it_does_in_todays_ctfd(old: Engine) -> None:
    migrate(old)
    with old.connect() as conn:
        conn.execute(text("PRAGMA foreign_keys=ON"))
        conn.execute(text("DELETE FROM challenges"))
        conn.execute(text("DELETE FROM users WHERE id = 3"))
        assert conn.execute(text("SELECT count(*) FROM submissions")).scalar_one() == 0
        assert conn.execute(text("SELECT count(*) FROM dynamic_challenge")).scalar_one() == 0
        assert conn.execute(text("SELECT captain_id FROM teams WHERE id = 1")).scalar_one() is None
        assert conn.execute(text("PRAGMA foreign_key_check")).all() == []


def test_rows_get_what_ctfds_own_migrations_give_them(old: Engine) -> None:
    migrate(old)
    with old.connect() as conn:
        rules = select(challenges.c.logic, challenges.c.position, challenges.c.function, challenges.c.requirements)
        assert conn.execute(rules.order_by(challenges.c.id)).all() == [
            ("any", 0, None, None),
            ("any", 0, None, {"prerequisites": [1]}),
        ]
        assert conn.execute(select(awards.c.type)).scalars().all() == ["standard"]


def test_the_first_member_becomes_captain(old: Engine) -> None:
    migrate(old)
    with old.connect() as conn:
        assert conn.execute(select(teams.c.name, teams.c.captain_id)).all() == [("Rooks", 3), ("Bishops", 2)]


def test_the_decay_of_dynamic_challenges_moves_and_the_old_columns_stay(old: Engine) -> None:
    migrate(old)
    with old.connect() as conn:
        assert conn.execute(select(dynamic_challenge)).all() == [(2, 500, 100, 10, "logarithmic")]
        assert conn.execute(text("SELECT initial, minimum, decay FROM dynamic_challenge")).all() == [(500, 100, 10)]


def test_ctfd_is_told_that_the_schema_is_complete_and_keeps_its_version(old: Engine) -> None:
    migrate(old)
    with old.connect() as conn:
        assert conn.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["8275865e5992"]
        assert conn.execute(text("SELECT value FROM config WHERE key = 'ctf_version'")).scalars().all() == ["2.0.0"]


@pytest.mark.postgresql
def test_an_older_postgresql_database_is_sent_to_ctfd(server: Engine) -> None:
    with server.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '336b8c601b94'"))
    with pytest.raises(CannotMigrate, match=r"revision 336b8c601b94; start CTFd 3\.8\.7 on it once"):
        migrate(server)


@pytest.mark.postgresql
def test_an_older_dynamic_challenge_on_postgresql_is_sent_to_ctfd(server: Engine) -> None:
    with server.begin() as conn:
        conn.execute(text("UPDATE config SET value = 'eb68f277ab61' WHERE key = 'dynamic_challenges_alembic_version'"))
    with pytest.raises(CannotMigrate, match=r"dynamic_challenge is at CTFd's revision eb68f277ab61"):
        migrate(server)


@pytest.mark.postgresql
def test_a_postgresql_database_without_a_revision_is_refused(server: Engine) -> None:
    with server.begin() as conn:
        conn.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(CannotMigrate, match="no revision in alembic_version"):
        migrate(server)
