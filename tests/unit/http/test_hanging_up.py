"""Who hangs up is not worked for: what waits for a thread then is not begun."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, func, select
from twisted.internet.testing import StringTransportWithDisconnection

from ctfd_twisted.db.database import Done, start_inline
from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge


class Held:
    """A platform whose threads work when the test says so, and somebody who has asked before."""

    def __init__(self) -> None:
        self.platform = MemoryPlatform().setup()
        self.challenge_id = self.platform.run(a_challenge)
        self.player = self.platform.player("ada")
        self.player.get("/api/v1/challenges")
        self.pending: list[tuple[Callable[[], Any], Done]] = []
        for turns in (self.platform.db._read_turns, self.platform.db._write_turns):
            turns._start = lambda work, done: self.pending.append((work, done))

    def work(self) -> None:
        """Let the threads do all that waits, until nothing does."""
        while self.pending:
            work, done = self.pending.pop(0)
            start_inline(work, done)

    def ask(self, method: str, path: str, body: object = None) -> StringTransportWithDisconnection:
        channel = QuietSite(self.platform.platform.resource, self.platform.clock).buildProtocol(None)
        transport: Any = StringTransportWithDisconnection()
        transport.protocol = channel
        channel.makeConnection(transport)
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token {self.player.token}\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        channel.dataReceived(head.encode() + kind.encode() + content)
        return transport  # type: ignore[no-any-return]


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
