"""What a node says about itself to whoever watches it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from treq.testing import StubTreq
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ctfd_twisted.db.database import WAITING, Database, Start, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.ops.health import PATIENCE, FrontDoor
from ctfd_twisted.testing import result_of


@pytest.fixture
def node() -> Iterator[Callable[..., FrontDoor]]:
    """Makes a node's front door over a database that reads as it is told to."""
    opened = []

    def make(read: Start = start_inline, url: str = "sqlite://", clock: Clock | None = None) -> FrontDoor:
        opened.append(open_engines(url))
        return FrontDoor(Database(opened[-1], Bus(), write=start_inline, read=read), clock or Clock())

    yield make
    for engines in opened:
        engines.close()


def asked(door: FrontDoor, path: str) -> tuple[Any, Deferred[Any]]:
    stub: Any = StubTreq(door)
    return stub, stub.get(f"http://ctf.example{path}")


def status(door: FrontDoor, path: str) -> int:
    return int(result_of(asked(door, path)[1]).code)


def test_a_node_whose_database_answers_is_healthy_before_it_is_ready(node: Callable[..., FrontDoor]) -> None:
    door = node()
    assert [status(door, path) for path in ("/healthcheck", "/readyz", "/login")] == [200, 503, 503]
    door.closed = None
    assert status(door, "/readyz") == 200


def test_a_node_without_a_database_is_not_healthy(node: Callable[..., FrontDoor]) -> None:
    assert status(node(url="postgresql://nobody@127.0.0.1:1/none"), "/healthcheck") == 503


def test_a_node_whose_database_hangs_is_not_healthy(node: Callable[..., FrontDoor]) -> None:
    clock = Clock()
    stub, asking = asked(node(read=lambda *_: None, clock=clock), "/healthcheck")
    clock.advance(PATIENCE)
    stub.flush()
    assert result_of(asking).code == 503


def test_a_node_with_too_many_transactions_is_not_healthy(node: Callable[..., FrontDoor]) -> None:
    door = node(read=lambda *_: None)
    for _ in range(WAITING):
        door._db.read(lambda _: None)
    assert status(door, "/healthcheck") == 503
