"""What the tests of the database share: a way to describe a schema, and processes on one SQLite file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect

from tests.integration.db.sharing import House

Description = dict[str, dict[str, Any]]


def _described(conn: Connection) -> Description:
    """Columns, keys, constraints and indexes of every table, in a form that compares; columns in no order."""
    inspector = inspect(conn)
    return {
        table: {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in inspector.get_columns(table)
            },
            "primary key": inspector.get_pk_constraint(table)["constrained_columns"],
            "foreign keys": sorted(
                (
                    key["constrained_columns"],
                    key["referred_table"],
                    key["referred_columns"],
                    key["options"],
                    key["name"],
                )
                for key in inspector.get_foreign_keys(table)
            ),
            "unique": sorted(
                (key["column_names"], key["name"] or "") for key in inspector.get_unique_constraints(table)
            ),
            "indexes": sorted(
                (index["name"] or "", index["column_names"], index["unique"])
                for index in inspector.get_indexes(table)
                if "duplicates_constraint" not in index
            ),
        }
        for table in inspector.get_table_names()
    }


@pytest.fixture
def described() -> Callable[[Connection], Description]:
    """Describe the schema that a connection sees."""
    return _described


@pytest.fixture
def path(sqlite_template: Path, tmp_path: Path) -> Path:
    """A migrated SQLite file."""
    return Path(shutil.copy(sqlite_template, tmp_path / "ctf.sqlite"))


@pytest.fixture
def one(path: Path) -> Iterator[House]:
    """A process on it."""
    house = House(path)
    yield house
    house.db.close()


@pytest.fixture
def other(path: Path) -> Iterator[House]:
    """Another."""
    house = House(path)
    yield house
    house.db.close()
