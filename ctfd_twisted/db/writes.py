"""The two phrases that every transaction needs and that the dialects say differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, Table

S = TypeVar("S", bound=Select[Any])


def insert_row(conn: Connection, table: Table, values: Mapping[str, object]) -> int:
    """Insert one row and return its id."""
    key = conn.execute(table.insert().values(**values)).inserted_primary_key
    assert key is not None  # noqa: S101 - a single-row INSERT always has one
    return int(key[0])


def locked(statement: S, conn: Connection) -> S:
    """*statement* with its rows locked until the end of the transaction.

    PostgreSQL locks the rows; on SQLite a write transaction is alone in the file from its first statement.
    """
    return statement.with_for_update() if conn.dialect.name == "postgresql" else statement
