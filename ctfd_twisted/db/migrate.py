"""Bringing a database to the present schema: making it, adopting CTFd's, or upgrading our own."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Engine, Transaction, inspect
from sqlalchemy.exc import OperationalError

from ctfd_twisted.db.adopt import CannotMigrate, Found, Kind, recognise
from ctfd_twisted.db.migrations.steps import notice_changes
from ctfd_twisted.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

Say = Callable[[str], None]

#: The revision that this version of the platform works with.
HEAD: Final = "0001"
#: Seconds to wait for the lock in silence, and then, having said so, at most.
PATIENCE: Final = 1
WAIT: Final = 600
#: Seconds that another program may keep a single table from being changed on PostgreSQL.
_TABLE_WAIT: Final = 60
#: PostgreSQL's advisory lock under which migrations happen, a number of ours: "ctfp" in ASCII.
_ADVISORY: Final = 0x63746670
#: PostgreSQL's lock_not_available.
_LOCKED: Final = "55P03"

WAITING: Final = "Waiting: another process migrates the database or writes to it"
NEVER: Final = f"Another process has not let go of the database for {WAIT} s; stop it and try again"

# Alembic hands the connection to its environment through module-wide proxies, so one migration at a time in a process.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class MigrationReport:
    """What a migration found and did.

    *from_revision* is ours, or CTFd's where its database was adopted; *added* names what was not there before, as
    ``table ctfp_hills``, ``column challenges.logic`` (of tables that were there) and ``index ctfp_ix_users_name``.
    """

    found: Kind
    from_revision: str | None
    to_revision: str
    added: tuple[str, ...]

    def __str__(self) -> str:
        """One sentence for the person who migrates."""
        counts = {
            kind: sum(name.startswith(f"{kind} ") for name in self.added) for kind in ("table", "column", "index")
        }
        added = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in counts.items() if count)
        if self.found == "empty":
            return f"Created the schema, revision {self.to_revision}: {added}"
        if self.found == "ctfd":
            return (
                f"Adopted CTFd's database at its revision {self.from_revision}, now {self.to_revision}: added {added}"
            )
        if self.from_revision == self.to_revision:
            return f"The schema is at revision {self.to_revision} already"
        return (
            f"Upgraded the schema from revision {self.from_revision} to {self.to_revision}: added {added or 'nothing'}"
        )


def _plural(kind: str, count: int) -> str:
    if count == 1:
        return kind
    return "indexes" if kind == "index" else f"{kind}s"


def migrate(engine: Engine, say: Say = lambda _: None) -> MigrationReport:
    """Bring the database to the present schema in one transaction, under a lock that all nodes respect.

    Any number of nodes may call this at once: one does the work, the others wait for it (*say* is told so) and find it
    done. A process that dies on the way leaves the database as it was. Raises ``CannotMigrate`` with a line of help.
    """
    with _one_at_a_time, as_file(files("ctfd_twisted.db.migrations")) as folder, engine.connect() as conn:
        with (_locked_sqlite if conn.dialect.name == "sqlite" else _locked_postgresql)(conn, say):
            found = recognise(conn)
            if found.kind == "ours" and found.revision == HEAD:
                if conn.dialect.name == "sqlite":
                    # Another program may have made a table anew meanwhile, whose triggers went with the old one.
                    notice_changes(conn, metadata.tables)
                return MigrationReport("ours", HEAD, HEAD, ())
            before = _inventory(conn)
            _upgrade(conn, found, str(folder))
            after = _inventory(conn)
        return MigrationReport(found.kind, found.revision, HEAD, tuple(sorted(_news(before, after))))


def _upgrade(conn: Connection, found: Found, folder: str) -> None:
    # Imported by the few starts that migrate: Alembic would take 11 MB in every process for as long as it runs.
    from alembic import command  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = _config(folder)
    known = {revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()}
    if found.kind == "ours" and found.revision not in known:
        raise CannotMigrate(
            f"The database is at revision {found.revision}, which this version of the platform does not know; "
            "run the newer version that upgraded it"
        )
    config.attributes["connection"] = conn
    command.upgrade(config, HEAD)


def alembic_config() -> Config:
    """Alembic's configuration of this checkout, to write a new revision into."""
    return _config(str(files("ctfd_twisted.db.migrations")))


def _config(folder: str) -> Config:
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config


@contextmanager
def _locked_sqlite(conn: Connection, say: Say) -> Iterator[None]:
    """One transaction that has the file's write lock from its beginning, and foreign keys switched off.

    With them, a table could not be replaced: dropping the old one deletes its rows first, and what refers to them.
    """
    driver = conn.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - the dialect says so
    (timeout,) = driver.execute("PRAGMA busy_timeout").fetchone()
    (foreign_keys,) = driver.execute("PRAGMA foreign_keys").fetchone()
    driver.execute("PRAGMA foreign_keys=OFF")  # has no effect within a transaction
    try:
        transaction = _begin_sqlite(conn, driver, PATIENCE)
        if transaction is None:
            say(WAITING)
            transaction = _begin_sqlite(conn, driver, WAIT)
        if transaction is None:
            raise CannotMigrate(NEVER)
        with transaction:
            yield
    finally:
        driver.execute(f"PRAGMA busy_timeout={timeout}")
        driver.execute(f"PRAGMA foreign_keys={foreign_keys}")


def _begin_sqlite(conn: Connection, driver: sqlite3.Connection, seconds: int) -> Transaction | None:
    driver.execute(f"PRAGMA busy_timeout={seconds * 1000}")
    try:
        transaction = conn.begin()
        # Our engines begin with BEGIN IMMEDIATE themselves; another's leaves it to the driver, which waits for a write.
        if not driver.in_transaction:
            conn.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as error:
        if not isinstance(error.orig, sqlite3.Error) or error.orig.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        conn.rollback()
        return None
    return transaction


@contextmanager
def _locked_postgresql(conn: Connection, say: Say) -> Iterator[None]:
    """One transaction that has the advisory lock; it sees what was committed while it waited."""
    conn.execution_options(isolation_level="READ COMMITTED")
    with conn.begin():
        if not _lock_postgresql(conn, PATIENCE):
            say(WAITING)
            if not _lock_postgresql(conn, WAIT):
                raise CannotMigrate(NEVER)
        conn.exec_driver_sql("SET LOCAL statement_timeout = 0")
        conn.exec_driver_sql(f"SET LOCAL lock_timeout = '{_TABLE_WAIT}s'")
        try:
            yield
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCKED:
                raise
            raise CannotMigrate("Another program holds a lock on a table; stop it (CTFd?) and try again") from error


def _lock_postgresql(conn: Connection, seconds: int) -> bool:
    try:
        with conn.begin_nested():
            conn.exec_driver_sql(f"SET LOCAL lock_timeout = '{seconds}s'")
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY})")
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCKED:
            raise
        return False
    return True


def _inventory(conn: Connection) -> dict[str, set[str]]:
    """Names of every table, with those of its columns and indexes as they stand in a report."""
    inspector = inspect(conn)
    inventory: dict[str, set[str]] = {name: set() for name in inspector.get_table_names()}
    for (_, table), columns in inspector.get_multi_columns().items():
        inventory[table].update(f"column {table}.{column['name']}" for column in columns)
    for (_, table), indexes in inspector.get_multi_indexes().items():
        inventory[table].update(f"index {index['name']}" for index in indexes)
    return inventory


def _news(before: dict[str, set[str]], after: dict[str, set[str]]) -> Iterator[str]:
    for table, parts in after.items():
        if table in before:
            yield from parts - before[table]
        else:
            yield f"table {table}"
