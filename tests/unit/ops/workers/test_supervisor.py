"""Workers that end, fail to start, and are taken off the list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from ctfd_twisted.ops.workers.supervisor import STATE, Supervisor
from ctfd_twisted.settings.reading import read_configuration


class Process:
    """One process that the system would run."""

    def __init__(self, protocol: Any) -> None:
        self.protocol = protocol
        self.signals: list[str] = []
        self.over = False
        protocol.makeConnection(self)

    def writeToChild(self, number: int, data: bytes) -> None:  # noqa: N802 - Twisted's name
        del number, data

    def signalProcess(self, signal: str) -> None:  # noqa: N802 - Twisted's name
        if self.over:
            raise ProcessExitedAlready
        self.signals.append(signal)

    def end(self) -> None:
        self.over = True
        self.protocol.processEnded(Failure(ProcessDone(0)))

    def ready(self) -> None:
        self.protocol.childDataReceived(STATE, b"READY=1\n")


class Reactor(MemoryReactorClock):
    """Starts processes in memory, when there is room for one."""

    def __init__(self) -> None:
        super().__init__()
        self.started: dict[str, Process] = {}
        self.full = False

    def spawnProcess(self, protocol: Any, *_: object, **__: object) -> None:  # noqa: N802 - Twisted's name
        if self.full:
            raise BlockingIOError("Resource temporarily unavailable")
        self.started[protocol.name] = Process(protocol)


@pytest.fixture
def reactor() -> Reactor:
    return Reactor()


@pytest.fixture
def supervisor(reactor: Reactor, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    """One with two workers that are ready, and nothing that listens."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    configured = read_configuration({}, {}, create=False).settings
    settings = msgspec.structs.replace(configured, workers=2, roles=frozenset({"web"}), listen=())
    supervisor = Supervisor(reactor, settings, lambda: settings)
    supervisor.startService()
    for process in tuple(reactor.started.values()):
        process.ready()
    return supervisor


def test_a_worker_that_ends_is_started_again(supervisor: Supervisor, reactor: Reactor) -> None:
    first = reactor.started["web-1.1"]
    reactor.advance(60)
    first.end()
    reactor.advance(0)
    assert reactor.started["web-1.1"] is not first
    assert supervisor.protocols["web-1.1"] is reactor.started["web-1.1"].protocol


def test_one_that_can_not_start_is_tried_later_each_time(supervisor: Supervisor, reactor: Reactor) -> None:
    """Starting takes seconds, so living for a few is no success."""
    waits = []
    for _ in range(7):
        process = reactor.started["web-1.1"]
        reactor.advance(3)
        process.end()
        waits.append(min(call.getTime() for call in reactor.getDelayedCalls()) - reactor.seconds())
        reactor.advance(waits[-1])
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert supervisor.running


@pytest.mark.usefixtures("supervisor")
def test_without_room_for_a_process_it_is_tried_again(reactor: Reactor) -> None:
    reactor.advance(60)
    reactor.full = True
    first = reactor.started["web-1.1"]
    first.end()
    reactor.advance(0)
    reactor.full = False
    reactor.advance(1)
    assert reactor.started["web-1.1"] is not first


def test_those_that_fail_after_a_reload_are_not_started_again(supervisor: Supervisor, reactor: Reactor) -> None:
    reactor.advance(60)
    supervisor.reload()
    reactor.started["web-2.1"].end()
    reactor.started["web-2.2"].end()
    del reactor.started["web-2.1"], reactor.started["web-2.2"]
    reactor.pump([1, 10, 100])
    assert sorted(reactor.started) == ["web-1.1", "web-1.2"]
    assert not [one for one in reactor.started.values() if one.signals]


def test_one_that_waits_to_be_started_again_is_not_when_the_next_are_ready(
    supervisor: Supervisor, reactor: Reactor
) -> None:
    """It would be one of a generation that has ended."""
    supervisor.reload()
    reactor.started.pop("web-1.1").end()
    for name in ("web-2.1", "web-2.2"):
        reactor.started[name].ready()
    reactor.pump([1, 10])
    assert sorted(reactor.started) == ["web-1.2", "web-2.1", "web-2.2"]
    assert reactor.started["web-1.2"].signals[:1] == ["TERM"]
