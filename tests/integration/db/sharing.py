"""Processes that share an SQLite file, as tests have them: all in one, each with its own connections."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import EVERYTHING, Bus, touch
from ctfd_twisted.testing import result_of

ALL = frozenset({EVERYTHING})


class House:
    """One process on the file: its database, and what its bus has told since it was asked last."""

    def __init__(self, path: Path) -> None:
        bus = Bus()
        self._told: list[frozenset[str]] = []
        bus.subscribe(self._told.append)
        self.db = Database(open_engines(f"sqlite:///{path}"), bus, write=start_inline, read=start_inline)
        self.db.engines.start_watch()

    def write(self, *topics: str) -> None:
        """Commit something that touches *topics*."""
        result_of(self.db.run(add, *topics))
        self._told.clear()

    def look(self) -> list[frozenset[str]]:
        """What a look around tells."""
        self._told.clear()
        self.db.notice_others()
        return self._told[:]


def add(conn: Connection, *topics: str) -> None:
    """Write something, and touch *topics*."""
    conn.execute(text("INSERT INTO brackets (name) VALUES ('x')"))
    touch(conn, *topics)


def outside(path: Path, *statements: str) -> None:
    """What another program does, in one transaction."""
    with closing(sqlite3.connect(path)) as program, program:
        for statement in statements:
            program.execute(statement)


def rows(path: Path, query: str) -> list[Any]:
    """What *query* finds."""
    with closing(sqlite3.connect(path)) as program:
        return program.execute(query).fetchall()
