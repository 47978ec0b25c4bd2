"""Answers that wait for an administrator who takes the player away meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, func, select, text

from ctfd_twisted.accounts.deletion import delete_user
from ctfd_twisted.accounts.membership import remove_member
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.attempts import attempts
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import Forbidden
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_team, a_user

NOW = datetime(2026, 3, 14, tzinfo=UTC)
# On SQLite the second of two writers has not even begun to read.
pytestmark = pytest.mark.parametrize(
    "database_url", [pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True
)


class Scene(NamedTuple):
    """A team of two, and a challenge with a flag."""

    team: int
    member: int
    other: int
    challenge: int


@pytest.fixture
def nodes(database_url: str) -> Iterator[list[Database]]:
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(2)]
    yield nodes
    for node in nodes:
        node.close()


def prepared(conn: Connection) -> Scene:
    write_config(conn, {"user_mode": "teams"})
    team, challenge = a_team(conn), a_challenge(conn)
    a_flag(conn, challenge)
    return Scene(team, a_user(conn, team_id=team), a_user(conn, team_id=team), challenge)


def wait_for_a_waiting_one(conn: Connection) -> None:
    """Return when another transaction waits for a lock of this one."""
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    deadline = time.monotonic() + 20
    while not conn.execute(waiting).scalar():
        assert time.monotonic() < deadline


def answered_meanwhile(nodes: list[Database], new: NewAttempt, change: Callable[[Connection], Any]) -> str:
    """What an answer gets that was sent between *change* and its commit."""
    with ThreadPoolExecutor(1) as thread:

        def changed(conn: Connection) -> Any:
            change(conn)
            answer = thread.submit(lambda: result_of(nodes[1].together(attempts)(new)).status)
            wait_for_a_waiting_one(conn)
            return answer

        answer = result_of(nodes[0].run(changed))
        try:
            status: str = answer.result(30)
        except Forbidden:
            return "forbidden"
        return status


def left(conn: Connection) -> tuple[Any, Any]:
    def count(table: Any) -> Any:
        return conn.scalar(select(func.count()).select_from(table))

    return count(submissions), count(users)


@pytest.mark.parametrize("submission", ["flag{right}", "wrong"])
def test_who_is_taken_out_of_the_team_answers_for_nobody(nodes: list[Database], submission: str) -> None:
    scene = result_of(nodes[0].run(prepared))
    new = NewAttempt(
        NOW, scene.member, is_admin=False, challenge_id=scene.challenge, submission=submission, address="::1"
    )
    told = answered_meanwhile(nodes, new, lambda conn: remove_member(conn, scene.team, scene.member))
    assert told == "forbidden"
    assert result_of(nodes[0].read(left)) == (0, 2)


@pytest.mark.parametrize("submission", ["flag{right}", "wrong"])
def test_who_is_deleted_answers_nothing(nodes: list[Database], submission: str) -> None:
    scene = result_of(nodes[0].run(prepared))
    new = NewAttempt(
        NOW, scene.member, is_admin=False, challenge_id=scene.challenge, submission=submission, address="::1"
    )
    told = answered_meanwhile(nodes, new, lambda conn: delete_user(conn, scene.other, scene.member))
    assert told == "forbidden"
    assert result_of(nodes[0].read(left)) == (0, 1)
