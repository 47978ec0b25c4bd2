"""Migrating an empty database ends where the tables of today begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.db.migrations import ctfd_387
from ctfd_twisted.db.migrations.steps import add_missing_tables
from ctfd_twisted.schema import metadata

Describe = Callable[[Connection], dict[str, dict[str, Any]]]


@pytest.fixture
def empty(empty_database_url: str) -> Iterator[Engines]:
    """The connections of a database without tables, SQLite then PostgreSQL."""
    opened = open_engines(empty_database_url)
    yield opened
    opened.close()


def test_a_migrated_database_is_what_create_all_makes(empty: Engines, described: Describe) -> None:
    with empty.write_engine.connect() as conn, conn.begin() as transaction:
        add_missing_tables(conn, metadata)
        created = described(conn)
        transaction.rollback()
    migrate(empty.write_engine)
    with empty.reader() as conn:
        migrated = described(conn)
    del migrated["ctfp_version"]
    assert migrated == created


def test_alembic_finds_nothing_to_change_in_a_migrated_database(engines: Engines) -> None:
    options = {"compare_type": True, "compare_server_default": True, "version_table": "ctfp_version"}
    with engines.reader() as conn:
        assert compare_metadata(MigrationContext.configure(conn, opts=options), metadata) == []


def test_ctfd_finds_its_own_marks_in_a_new_database(engines: Engines) -> None:
    expected = [("ctf_version", "3.8.7")]
    if engines.dialect == "postgresql":
        expected.append(("dynamic_challenges_alembic_version", "93284ed9c099"))
    with engines.reader() as conn:
        assert conn.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == ["8275865e5992"]
        assert [tuple(row) for row in conn.execute(text("SELECT key, value FROM config ORDER BY id"))] == expected


def test_a_migration_that_fails_leaves_nothing(empty: Engines, described: Describe) -> None:
    with empty.write_engine.begin() as conn:
        add_missing_tables(conn, ctfd_387.schema)
        conn.execute(text("INSERT INTO alembic_version VALUES ('8275865e5992')"))
        # In the way of the last table that is made.
        conn.execute(text("CREATE TABLE ctfp_webhook_attempts (id INTEGER)"))
        before = described(conn)
    with pytest.raises(SQLAlchemyError, match=r"ctfp_webhook_attempts.*already exists"):
        migrate(empty.write_engine)
    with empty.reader() as conn:
        assert described(conn) == before
