"""Events that were played on CTFd keep their boards, counts and values."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.scoring.store import standings
from ctfd_twisted.scoring.values import counted_solves, present_kind, recompute_values

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(params=["users", "teams"])
def event(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Connection, dict[str, Any]]]:
    """A transaction on an adopted database of CTFd, and what CTFd itself answered."""
    name = f"ctfd-3.8.7-{request.param}"
    engines = open_engines(f"sqlite:///{shutil.copy(DATA / f'{name}.sqlite', tmp_path)}")
    migrate(engines.write_engine)
    with engines.writer() as conn, conn.begin():
        yield conn, json.loads((DATA / f"{name}.json").read_text())
    engines.close()


def test_the_board_is_the_same(event: tuple[Connection, dict[str, Any]]) -> None:
    conn, expected = event
    board = standings(conn, read_competition(conn))
    assert [[row.place, row.name, row.score] for row in board] == expected["scoreboard"]


def test_the_counts_are_the_same(event: tuple[Connection, dict[str, Any]]) -> None:
    conn, expected = event
    counts = counted_solves(conn, present_kind(conn))
    assert {number: counts.get(int(number), 0) for number in expected["solves"]} == expected["solves"]


def test_values_differ_only_where_ctfd_forgot_to_compute_them(event: tuple[Connection, dict[str, Any]]) -> None:
    """In the event of single users, two solvers of challenge 12 were hidden and banned after their solves."""
    conn, expected = event
    recompute_values(conn)
    stored = {str(row.id): row.value for row in conn.execute(select(challenges.c.id, challenges.c.value))}
    different = {number for number, value in expected["challenge_values"].items() if stored[number] != value}
    assert different == ({"12"} if not read_competition(conn).teams else set())
    assert stored["12"] == (500 - 16 * 3 * 3 if different else 436)
