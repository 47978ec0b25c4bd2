"""Fixtures of all tests: a connection with every table, and a fixed instant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import StaticPool, create_engine, event

from ctfd_twisted.schema import metadata

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine


@pytest.fixture
def now() -> datetime:
    """One instant, aware UTC."""
    return datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)


@pytest.fixture(scope="session")
def memory_engine() -> Iterator[Engine]:
    """One SQLite in memory with every table, for the whole run; tests get it through ``conn``."""
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        # The driver's own idea of transactions commits before DDL and ignores savepoints; ours begin below.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def conn(memory_engine: Engine) -> Iterator[Connection]:
    """A transaction on an empty SQLite in memory with every table; it is rolled back after the test."""
    with memory_engine.connect() as connection, connection.begin() as transaction:
        yield connection
        transaction.rollback()
