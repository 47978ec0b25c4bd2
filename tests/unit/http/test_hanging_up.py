"""Who hangs up is not worked for: what waits for a thread then is not begun."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, func, select

from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge
from tests.unit.http.held import HeldThreads


class Held(HeldThreads):
    """A platform whose threads work when the test says so, and somebody who has asked before."""

    def __init__(self) -> None:
        self.platform = MemoryPlatform().setup()
        self.challenge_id = self.platform.run(a_challenge)
        self.player = self.platform.player("ada")
        self.player.get("/api/v1/challenges")
        super().__init__(self.platform, self.player)


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.platform.close()


def attempts(conn: Connection) -> int:
    return conn.scalar(select(func.count()).select_from(submissions)) or 0


def test_a_read_that_waits_is_not_begun_and_makes_room(held: Held) -> None:
    waits = held.platform.db.reads
    gone, stays = held.ask("GET", "/api/v1/users/me"), held.ask("GET", "/api/v1/users/me")
    assert waits.waiting == 2
    gone.loseConnection()
    assert waits.waiting == 1
    held.work()
    assert waits.waiting == 0
    assert gone.value() == b""
    assert stays.value().startswith(b"HTTP/1.1 200 ")


def test_an_attempt_that_waits_is_not_stored(held: Held) -> None:
    attempt = {"challenge_id": held.challenge_id, "submission": "flag{no}"}
    gone = held.ask("POST", "/api/v1/challenges/attempt", attempt)
    assert held.pending
    gone.loseConnection()
    held.work()
    stays = held.ask("POST", "/api/v1/challenges/attempt", attempt)
    held.work()
    assert stays.value().startswith(b"HTTP/1.1 200 ")
    with held.platform.db.engines.reader() as conn:
        assert attempts(conn) == 1
