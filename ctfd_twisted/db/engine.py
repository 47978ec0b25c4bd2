"""Connections: an SQLite file with one writer and a few readers, or a PostgreSQL pool."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool, StaticPool

from ctfd_twisted.db import sqlite_news
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.db.sqlite_news import SQLiteWatch

#: PostgreSQL's channel on which nodes, and the triggers of other programs' changes, tell what was touched.
CHANNEL: Final = "ctfp"
#: Seconds that SQLite waits for a lock held by another process.
BUSY_TIMEOUT: Final = 10
READERS: Final = 3
POOL_SIZE: Final = 8
#: How libpq notices within some 20 s that the server's machine is gone, which says nothing of itself: seconds, but for
#: the last. What the URL says about them counts more.
ALIVE: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
#: What PostgreSQL takes in one notification, in bytes; whoever would tell more tells that everything may have changed.
LONGEST_NEWS: Final = 7999


class Engines:
    """Where a database's connections come from; made by :func:`open_engines`."""

    def __init__(self, write: Engine, read: Engine, node: str) -> None:
        self.node = node
        self.dialect = write.dialect.name
        self.watch: SQLiteWatch | None = None
        self._alone = self.dialect == "sqlite" and _in_memory(write.url)
        self.write_engine = write
        self.read_engine = read
        self._writer: Connection | None = None

    @contextmanager
    def writer(self) -> Iterator[Connection]:
        """A connection for one write transaction.

        SQLite's one writer keeps its connection between transactions: taking it out of a pool and putting it back costs
        a tenth of a small transaction.
        """
        if self.dialect != "sqlite":
            with self.write_engine.connect() as conn:
                yield conn
            return
        if self._writer is None or self._writer.closed:
            self._writer = self.write_engine.connect()
        driver = self._writer.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - the dialect says so
        if driver.in_transaction:
            # A commit that fails may leave the transaction open, and SQLAlchemy then knows nothing of it any more.
            driver.rollback()
        yield self._writer

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection for one read-only transaction."""
        with self.read_engine.connect() as conn:
            yield conn

    def before_commit(self, conn: Connection, topics: frozenset[str]) -> None:
        """Add what other nodes need to hear to the transaction itself, so that it is told if and only if it commits."""
        if not topics or self._alone:
            return
        if self.dialect == "sqlite":
            sqlite_news.tell(conn, self.node, topics)
            return
        news = self._news(topics)
        if len(news) > LONGEST_NEWS:
            news = self._news({EVERYTHING})
        _NOTIFY.all(conn, {"channel": CHANNEL, "news": news})

    def _news(self, topics: Collection[str]) -> str:
        return json.dumps({"node": self.node, "topics": sorted(topics)})

    def start_watch(self) -> None:
        """Begin to notice what others write to an SQLite file that is migrated (nobody can write to one in memory)."""
        if self.dialect == "sqlite" and not self._alone:
            assert self.write_engine.url.database  # noqa: S101 - not in memory, so it has a path
            self.watch = SQLiteWatch(self.write_engine.url.database, self.node)

    def close(self) -> None:
        """Close every connection."""
        if self.watch is not None:
            self.watch.close()
        if self._writer is not None:
            self._writer.close()
        self.write_engine.dispose()
        self.read_engine.dispose()


_NOTIFY = Ready(text("SELECT pg_notify(:channel, :news)"))


def open_engines(url: str | URL) -> Engines:
    """Engines for a SQLAlchemy URL of SQLite or of PostgreSQL through psycopg 3; nothing is connected yet.

    An SQLite file's folder is made where it is missing. Raises ``ValueError`` for another kind of database.
    """
    where = make_url(url)
    node = uuid.uuid4().hex[:12]
    if where.get_backend_name() == "sqlite":
        return _open_sqlite(where, node)
    if where.get_backend_name() == "postgresql":
        return _open_postgresql(where.set(drivername="postgresql+psycopg"), node)
    raise ValueError(
        f"a database of kind {where.get_backend_name()!r} is not supported; use sqlite:/// or postgresql://"
    )


def _in_memory(url: URL) -> bool:
    return url.database in {None, "", ":memory:"}


def _open_sqlite(url: URL, node: str) -> Engines:
    if _in_memory(url):
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
        _prepare_sqlite(engine, "BEGIN")
        return Engines(engine, engine, node)
    assert url.database  # noqa: S101 - not in memory, so it has a path
    Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"check_same_thread": False, "timeout": BUSY_TIMEOUT}
    write = create_engine(url, poolclass=QueuePool, pool_size=1, max_overflow=0, connect_args=options)
    read = create_engine(url, poolclass=QueuePool, pool_size=READERS, max_overflow=0, connect_args=options)
    # A writer takes the lock when it begins: one that asked for it later could fail without a retry by SQLite.
    # Triggers that tell of other programs' writes keep silent where they may recurse (migrations/steps.py).
    _prepare_sqlite(write, "BEGIN IMMEDIATE", "PRAGMA recursive_triggers=ON")
    _prepare_sqlite(read, "BEGIN", "PRAGMA query_only=ON")
    return Engines(write, read, node)


def _prepare_sqlite(engine: Engine, begin: str, *pragmas: str) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions are begun by the hook below, not guessed by the driver
        _use_wal(connection)
        for pragma in (
            "PRAGMA synchronous=NORMAL",
            "PRAGMA foreign_keys=ON",
            "PRAGMA cache_size=-16000",
            "PRAGMA temp_store=MEMORY",
            *pragmas,
        ):
            connection.execute(pragma).close()

    @event.listens_for(engine, "begin")
    def begun(conn: Connection) -> None:
        conn.exec_driver_sql(begin)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log, where it is not yet.

    Of two processes that both do so to a new file, SQLite fails one at once, in spite of the timeout. Waiting for the
    other is what a transaction does, and after it the switch is done.
    """
    try:
        connection.execute("PRAGMA journal_mode=WAL").close()
    except sqlite3.OperationalError:
        connection.execute("BEGIN IMMEDIATE").close()
        connection.execute("COMMIT").close()
        connection.execute("PRAGMA journal_mode=WAL").close()


def _open_postgresql(url: URL, node: str) -> Engines:
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=10,
        pool_recycle=1800,
        # The one that was used last: what it knows is still in the caches of the processor, and of its own process.
        pool_use_lifo=True,
        connect_args={
            **{name: value for name, value in ALIVE.items() if name not in url.query},
            "application_name": f"ctfp:{node}",
            "connect_timeout": 10,
            "options": "-c timezone=UTC -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
            # The same the other way round: what a machine that is gone had locked is let go.
            " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3",
        },
    )
    read = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Engines(engine, read, node)
