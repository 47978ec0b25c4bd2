"""A migration that is killed on its way leaves the database as it was, and the next one succeeds."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect, text

from ctfd_twisted.db.migrate import migrate

ROOT = Path(__file__).parents[3]
# The first of our tables, after CTFd's are there; one of the last indexes; and the row that says it is done.
MOMENTS = ("CREATE TABLE ctfp_leases", "CREATE INDEX ctfp_ix_users_name", "INSERT INTO ctfp_version")
# Kills itself, as kill -9 does, before the statement that begins as it is told.
VICTIM = """
import os, signal, sys
from sqlalchemy import event
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
engine = open_engines(sys.argv[1]).write_engine
@event.listens_for(engine, "before_cursor_execute")
def die(conn, cursor, statement, *_):
    if statement.strip().startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
migrate(engine)
"""

Describe = Callable[[Connection], dict[str, dict[str, Any]]]


def state(url: str, described: Describe) -> tuple[dict[str, Any], dict[str, list[tuple[Any, ...]]]]:
    """The schema of a database and every row in it."""
    engine = create_engine(url)
    with engine.connect() as conn:
        tables = inspect(conn).get_table_names()
        rows = {
            table: [tuple(row) for row in conn.execute(text(f"SELECT * FROM {table} ORDER BY 1"))]  # noqa: S608 - a name from the database
            for table in tables
        }
        schema = described(conn)
    engine.dispose()
    return schema, rows


def kill_a_migration(url: str, moment: str) -> None:
    """Migrate in another process, which dies at *moment*."""
    done = subprocess.run([sys.executable, "-c", VICTIM, url, moment], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


def migrate_again(url: str) -> str:
    engine = create_engine(url)
    found = migrate(engine).found
    engine.dispose()
    return found


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_empty_database_is_still_empty(empty_database_url: str, moment: str, described: Describe) -> None:
    kill_a_migration(empty_database_url, moment)
    assert state(empty_database_url, described) == ({}, {})
    assert migrate_again(empty_database_url) == "empty"


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctfds_database_is_still_ctfds(ctfd_event: Any, moment: str, described: Describe) -> None:
    before = state(ctfd_event.url, described)
    kill_a_migration(ctfd_event.url, moment)
    assert state(ctfd_event.url, described) == before
    assert migrate_again(ctfd_event.url) == "ctfd"
