"""Claims about how the figures of workers come together."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ctfd_twisted.ops.metrics.figures import Family, gauge
from ctfd_twisted.ops.metrics.lines import PATIENCE, Answering, Asking, Switchboard


def number(value: float) -> list[Family]:
    return [gauge("g", "G.", ({}, value))]


class Reactor(Clock):
    """Keeps the ends that a supervisor adopts."""

    def __init__(self) -> None:
        super().__init__()
        self.adopted: list[tuple[Asking, StringTransport]] = []

    def adoptStreamConnection(self, fileDescriptor: int, addressFamily: int, factory: Any) -> None:  # noqa: N802, N803
        del fileDescriptor, addressFamily
        line, transport = factory.buildProtocol(None), StringTransport()
        line.makeConnection(transport)
        self.adopted.append((line, transport))


@pytest.fixture
def reactor() -> Reactor:
    return Reactor()


@pytest.fixture
def switchboard(reactor: Reactor) -> Switchboard:
    board = Switchboard(reactor, lambda: succeed(number(0)))
    for worker in ("web-1.1", "web-1.2"):
        board.connect(worker).close()
    return board


def answer(asked: tuple[Asking, StringTransport], value: float) -> None:
    """Let a worker answer what it was asked."""
    line, transport = asked
    theirs, back = Answering(lambda: succeed(number(value))), StringTransport()
    theirs.makeConnection(back)
    theirs.dataReceived(transport.value())
    transport.clear()
    line.dataReceived(back.value())


def values(gathering: Deferred[list[Family]]) -> dict[tuple[str, str], float]:
    found: list[list[Family]] = []
    gathering.addCallback(found.append)
    return {(family.name, one.labels["worker"]): one.value for family in found[0] for one in family.samples}


def test_all_workers_are_in_one_answer(switchboard: Switchboard, reactor: Reactor) -> None:
    gathering = switchboard.gather()
    for place, asked in enumerate(reactor.adopted, 1):
        answer(asked, place)
    assert values(gathering) == {
        ("ctfplatform_worker_up", "supervisor"): 1,
        ("ctfplatform_worker_up", "web-1.1"): 1,
        ("ctfplatform_worker_up", "web-1.2"): 1,
        ("g", "supervisor"): 0,
        ("g", "web-1.1"): 1,
        ("g", "web-1.2"): 2,
    }
    assert not reactor.getDelayedCalls()


def test_a_worker_that_hangs_holds_up_nobody(switchboard: Switchboard, reactor: Reactor) -> None:
    gathering = switchboard.gather()
    answer(reactor.adopted[0], 1)
    reactor.advance(PATIENCE)
    found = values(gathering)
    assert found["ctfplatform_worker_up", "web-1.2"] == 0
    assert ("g", "web-1.2") not in found
    # Its late answer is not taken for one to the next question.
    line, transport = reactor.adopted[1]
    transport.clear()
    theirs, back = Answering(lambda: succeed(number(7))), StringTransport()
    theirs.makeConnection(back)
    theirs.stringReceived(b"")
    gathering = switchboard.gather()
    line.dataReceived(back.value())
    answer(reactor.adopted[0], 1)
    answer(reactor.adopted[1], 8)
    assert values(gathering)["g", "web-1.2"] == 8


def test_a_worker_that_ended_is_forgotten(switchboard: Switchboard, reactor: Reactor) -> None:
    gathering = switchboard.gather()
    answer(reactor.adopted[0], 1)
    reactor.adopted[1][0].connectionLost(Failure(ConnectionLost()))
    assert values(gathering)["ctfplatform_worker_up", "web-1.2"] == 0
    gathering = switchboard.gather()
    answer(reactor.adopted[0], 1)
    assert ("ctfplatform_worker_up", "web-1.2") not in values(gathering)
