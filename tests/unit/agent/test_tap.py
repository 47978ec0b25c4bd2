"""The service that `twistd` starts, on an endpoint in memory."""

from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IReactorProcess, IStreamServerEndpoint
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from zope.interface import implementer

from koth_agent.channel import AgentSite
from koth_agent.commands import CommandRunner
from koth_agent.errors import StartError
from koth_agent.identity import OwnerUnknown
from koth_agent.options import AgentOptions, Settings
from koth_agent.run import Run
from koth_agent.tap import AgentService, make_endpoint, owner_source


def settings(*words: str) -> Settings:
    options = AgentOptions({})
    options.parseOptions(["-listen", "memory", *words])
    return options.settings


@implementer(IListeningPort)
class Port:
    stopped = False

    def startListening(self) -> None:  # noqa: N802
        raise AssertionError("it listens already")

    def stopListening(self) -> Deferred[None]:  # noqa: N802
        self.stopped = True
        return succeed(None)

    def getHost(self) -> IPv4Address:  # noqa: N802
        return IPv4Address("TCP", "192.0.2.1", 31337)


@implementer(IStreamServerEndpoint)
class Endpoint:
    def __init__(self, answer: Deferred[IListeningPort]) -> None:
        self.answer = answer
        self.asked = 0

    def listen(self, protocolFactory: Any) -> Deferred[IListeningPort]:  # noqa: ARG002, N803
        self.asked += 1
        return self.answer


class Reactor(MemoryReactorClock):
    stops = 0

    def stop(self) -> None:
        self.stops += 1


@implementer(IReactorProcess)
class NoProcesses:
    def spawnProcess(self, *arguments: Any, **named: Any) -> Any:  # noqa: N802
        raise AssertionError((arguments, named))


class Started:
    """A service, and what it stands on."""

    def __init__(self, answer: Deferred[IListeningPort]) -> None:
        self.reactor = Reactor()
        self.endpoint = Endpoint(answer)
        site = AgentSite(Resource(), self.reactor)
        commands = CommandRunner(NoProcesses(), self.reactor, 1.0, {})
        self.service = AgentService(settings(), self.endpoint, site, commands, self.reactor)

    def start(self) -> None:
        self.service.privilegedStartService()
        self.service.startService()


LINES = "Listening on 192.0.2.1:31337\nRunning without encryption\n"
TAKEN = CannotListenError("192.0.2.1", 31337, OSError(98, "Address already in use"))


def test_it_announces_an_endpoint_when_it_listens_and_lets_go_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    port = Port()
    started = Started(succeed(port))
    started.start()
    assert (capfd.readouterr().out, started.endpoint.asked) == (LINES, 1)
    stopped: list[None] = []
    started.service.stopService().addCallback(stopped.append)
    assert (stopped, port.stopped) == ([None], True)


def test_a_runner_that_knows_no_privileges_gets_a_listening_agent_too(capfd: pytest.CaptureFixture[str]) -> None:
    started = Started(succeed(Port()))
    started.service.startService()
    assert (capfd.readouterr().out, started.endpoint.asked) == (LINES, 1)


def test_a_failure_at_once_is_raised_and_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    started = Started(fail(TAKEN))
    with pytest.raises(StartError, match="Address already in use"):
        started.start()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("kothagent: listen 'memory': Couldn't listen on 192.0.2.1:31337")
    assert started.reactor.stops == 0


def test_a_failure_later_stops_the_agent(capfd: pytest.CaptureFixture[str]) -> None:
    answer: Deferred[IListeningPort] = Deferred()
    started = Started(answer)
    started.start()
    assert capfd.readouterr().out == ""
    answer.errback(Failure(TAKEN))
    assert (started.reactor.stops, len(capfd.readouterr().err.splitlines())) == (1, 1)
    assert started.service.error is not None


def test_it_can_stop_while_it_is_waiting_to_listen(capfd: pytest.CaptureFixture[str]) -> None:
    started = Started(Deferred())
    started.start()
    stopped: list[None] = []
    started.service.stopService().addCallback(stopped.append)
    assert (stopped, started.reactor.stops, capfd.readouterr().err) == ([None], 0, "")


def test_it_can_stop_without_having_started() -> None:
    stopped: list[None] = []
    Started(Deferred()).service.stopService().addCallback(stopped.append)
    assert stopped == [None]


def test_an_endpoint_s_parser_may_raise_what_it_likes() -> None:
    with pytest.raises(StartError, match=r"^listen 'memory': "):
        make_endpoint(settings(), MemoryReactorClock())


class Commands(CommandRunner):
    """Answers without running anything."""

    def __init__(self, run: Run) -> None:
        self.answer = run

    def run(self, command: str) -> Deferred[Run]:
        assert command == "who"
        return succeed(self.answer)


def asked(source: Any) -> str:
    """What a source that does not wait says."""
    with pytest.raises(StopIteration) as ended:
        source().send(None)
    return ended.value.value  # type: ignore[no-any-return]


def test_the_owner_command_comes_before_the_file() -> None:
    source = owner_source(settings("-owner-cmd", "who"), Commands(Run(b"carol\n", b"", 0)), lambda *_: fail(TAKEN))
    assert asked(source) == "carol"


def test_the_file_is_read_in_a_thread() -> None:
    read: list[str] = []

    def in_thread(_: object, path: str) -> Deferred[str]:
        read.append(path)
        return succeed("dora")

    source = owner_source(settings("-file", "f"), Commands(Run(b"", b"", 0)), in_thread)
    assert (asked(source), read) == ("dora", ["f"])


def test_a_host_without_room_for_a_thread_knows_no_owner() -> None:
    source = owner_source(
        settings("-file", "f"), Commands(Run(b"", b"", 0)), lambda *_: fail(RuntimeError("can't start new thread"))
    )
    with pytest.raises(OwnerUnknown, match="f: can't start new thread"):
        source().send(None)  # type: ignore[attr-defined]
