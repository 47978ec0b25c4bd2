"""An account that somebody else's transaction holds keeps nobody else's answer waiting; on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

import pytest
from sqlalchemy import Connection, select
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.attempts import Outcome, attempts
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import start_in
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_user

NOW = datetime(2026, 3, 14, tzinfo=UTC)
#: Seconds after which a call that does not come is a failure.
DEADLINE = 30


class Node:
    """A database with threads of its own; the test's thread is its reactor's."""

    def __init__(self, url: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()
        self.pool = ThreadPool(4, 4)
        self.pool.start()
        start = start_in(self.pool, self._call_soon)
        self.db = Database(open_engines(url), Bus(), write=start, read=start_inline, writers=4)

    def _call_soon(self, callable: Callable[..., Any], *args: object, **_: object) -> None:
        self._calls.put((callable, args))

    def until(self, told: list[Outcome], count: int) -> None:
        """Be the reactor until *count* are *told*."""
        while len(told) < count:
            fn, args = self._calls.get(timeout=DEADLINE)
            fn(*args)

    def stop(self) -> None:
        self.pool.stop()
        self.db.close()


@pytest.fixture
def node(database_url: str) -> Iterator[Node]:
    one = Node(database_url)
    yield one
    one.stop()


@pytest.mark.parametrize("database_url", [pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True)
def test_who_is_held_up_holds_up_nobody(node: Node) -> None:
    engines: Engines = node.db.engines

    def prepare(conn: Connection) -> tuple[int, list[int]]:
        challenge = a_challenge(conn)
        a_flag(conn, challenge)
        return challenge, [a_user(conn) for _ in range(6)]

    with engines.writer() as conn:
        challenge, (held, *free) = prepare(conn)
        conn.commit()
    answer = node.db.together(attempts)
    told: list[Outcome] = []
    with engines.writer() as holder:
        holder.execute(select(users.c.id).where(users.c.id == held).with_for_update())
        for user in (held, *free):
            answer(NewAttempt(NOW, user, False, challenge, "flag{right}", "::1")).addCallback(told.append)
        node.until(told, len(free))
        assert [one.status for one in told] == ["correct"] * len(free)
        holder.commit()
    node.until(told, len(free) + 1)
    assert told[-1].status == "correct"
