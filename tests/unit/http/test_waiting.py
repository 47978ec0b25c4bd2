"""Requests whose route is remembered, and that wait: they are answered later, unless who asked has hung up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from ctfd_twisted.db.database import Done, start_inline
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing import MemoryPlatform
from tests.unit.http.held import HeldThreads

AWARDS = "/api/v1/awards"


class Held(HeldThreads):
    """A platform whose threads work when the test says so, and an administrator who has asked before."""

    def __init__(self) -> None:
        self.platform = MemoryPlatform().setup()
        self.admin = self.platform.admin()
        self.award = {"user_id": self.admin.get("/api/v1/users/me").data["id"], "name": "x", "value": 5}
        for _ in range(2):
            assert self.admin.get(AWARDS).status == 200
            assert self.admin.post(AWARDS, self.award).status == 200
        super().__init__(self.platform, self.admin)


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.platform.close()


def stored(conn: Connection) -> int:
    return conn.scalar(select(func.count()).select_from(awards)) or 0


def test_they_are_answered_when_it_is_there(held: Held) -> None:
    asked = [held.ask("GET", AWARDS), held.ask("POST", AWARDS, held.award), held.ask("GET", f"{AWARDS}/77")]
    assert [one.value() for one in asked] == [b"", b"", b""]
    held.work()
    assert [one.value().split(b"\r\n", 1)[0][9:12] for one in asked] == [b"200", b"200", b"404"]
    assert [one.value().count(b"HTTP/1.1") for one in asked] == [1, 1, 1]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_who_hangs_up_is_not_worked_for(held: Held, method: str) -> None:
    gone = held.ask(method, AWARDS, held.award if method == "POST" else None)
    queue = held.platform.db.reads if method == "GET" else held.platform.db.writes
    assert queue.waiting == 1
    gone.loseConnection()
    assert queue.waiting == 0
    held.work()
    assert gone.value() == b""
    with held.platform.db.engines.reader() as conn:
        assert stored(conn) == 2


def test_who_hangs_up_later_takes_nothing_back(held: Held) -> None:
    gone = held.ask("POST", AWARDS, held.award)
    outcomes: list[tuple[Done, tuple[bool, Any]]] = []
    work, done = held.pending.pop()
    start_inline(work, lambda *told: outcomes.append((done, told)))
    gone.loseConnection()
    for done, told in outcomes:
        done(*told)
    assert gone.value() == b""
    with held.platform.db.engines.reader() as conn:
        assert stored(conn) == 3
