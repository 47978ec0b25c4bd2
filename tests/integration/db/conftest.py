"""Fixtures of the tests of migrations: the databases that CTFd itself wrote, and a way to describe a schema."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from sqlalchemy import Connection, inspect

DATA = Path(__file__).parents[2] / "data"

Description = dict[str, dict[str, Any]]


class Event(NamedTuple):
    """A database that CTFd 3.8.7 wrote while a small event was played on it, and what must come out."""

    url: str
    mode: str
    scoreboard: list[list[Any]]
    values: dict[int, int]
    solves: dict[int, int]


@pytest.fixture(
    params=["users", "teams", pytest.param("teams-postgresql", marks=pytest.mark.postgresql)],
)
def ctfd_event(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Event]:
    """Each of the three databases that CTFd wrote, as a copy."""
    name = f"ctfd-3.8.7-{request.param}"
    told = json.loads((DATA / f"{name}.json").read_text())
    values = {int(number): value for number, value in told["challenge_values"].items()}
    solves = {int(number): value for number, value in told["solves"].items()}
    if request.param != "teams-postgresql":
        path = shutil.copy(DATA / f"{name}.sqlite", tmp_path / "ctfd.sqlite")
        yield Event(f"sqlite:///{path}", told["mode"], told["scoreboard"], values, solves)
        return
    server = request.getfixturevalue("postgresql")
    database = server.create()
    with psycopg.connect(server.url(database).replace("+psycopg", ""), autocommit=True) as conn:
        conn.execute((DATA / f"{name}.sql").read_bytes())
    yield Event(server.url(database), told["mode"], told["scoreboard"], values, solves)
    server.drop(database)


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
