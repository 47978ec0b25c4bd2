"""Running commands, with a fake of IReactorProcess: the real processes are in tests/integration/agent."""

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from koth_agent.commands import LINGER, MOST_PROCESSES, STREAM_BYTES, CommandRunner
from koth_agent.run import Run

TIMEOUT = 10.0


class FakeProcess:
    """One process as its protocol sees it, and as the kernel would move it."""

    def __init__(self, protocol: Any, pid: int, arguments: list[bytes], environment: dict[bytes, bytes]) -> None:
        self.protocol = protocol
        self.pid: int | None = pid
        self.arguments = arguments
        self.environment = environment
        self.stdin_closed = False
        self.closed = False
        self.signals: list[str] = []

    def closeStdin(self) -> None:  # noqa: N802
        self.stdin_closed = True

    def loseConnection(self) -> None:  # noqa: N802
        self.closed = True

    def signalProcess(self, name: str) -> None:  # noqa: N802
        if self.pid is None:
            raise ProcessExitedAlready
        self.signals.append(name)

    def leave(self, status: int = 0, signal: int | None = None) -> None:
        """The command's own process ends."""
        self.pid = None
        self.reason = Failure(ProcessTerminated(status, signal) if status or signal else ProcessDone(0))
        self.protocol.processExited(self.reason)

    def end(self, status: int = 0, signal: int | None = None) -> None:
        """It ends, and so do its pipes."""
        self.leave(status, signal)
        self.protocol.processEnded(self.reason)


@implementer(IReactorProcess)
class FakeProcesses:
    """Starts nothing and remembers everything."""

    def __init__(self) -> None:
        self.started: list[FakeProcess] = []
        self.refusal: OSError | None = None
        self.on_start: Callable[[FakeProcess], None] = lambda _: None

    def spawnProcess(  # noqa: N802
        self,
        processProtocol: Any,  # noqa: N803
        executable: Any,  # noqa: ARG002
        args: Any = (),
        env: Any = None,
        path: Any = None,  # noqa: ARG002
        uid: Any = None,  # noqa: ARG002
        gid: Any = None,  # noqa: ARG002
        usePTY: Any = False,  # noqa: ARG002, FBT002, N803
        childFDs: Any = None,  # noqa: ARG002, N803
    ) -> Any:
        if self.refusal is not None:
            raise self.refusal
        process = FakeProcess(processProtocol, 100 + len(self.started), args, env)
        self.started.append(process)
        processProtocol.makeConnection(process)
        self.on_start(process)
        return process


class CommandRunnerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.processes = FakeProcesses()
        self.clock = Clock()
        self.killed: list[int] = []
        self.runner = CommandRunner(self.processes, self.clock, TIMEOUT, {b"A": b"1"}, self.killed.append)

    def start(self, command: str = "check") -> tuple[Deferred[Run], FakeProcess]:
        result = self.runner.run(command)
        return result, self.processes.started[-1]

    def test_a_command_is_a_shell_command_line(self) -> None:
        _, process = self.start("echo $A | cat")
        assert process.arguments[-1] == b"echo $A | cat"
        assert b"'/bin/sh', ['sh', '-c', sys.argv[1]]" in process.arguments[-2]
        assert process.environment == {b"A": b"1"}
        assert process.stdin_closed

    def test_a_command_line_may_hold_any_bytes(self) -> None:
        _, process = self.start(os.fsdecode(b"cat \xff"))
        assert process.arguments[-1] == b"cat \xff"

    def test_a_run_has_both_streams_and_the_status(self) -> None:
        result, process = self.start()
        process.protocol.outReceived(b"o")
        process.protocol.outReceived(b"ut")
        process.protocol.errReceived(b"err")
        process.leave(3)
        self.assertNoResult(result)  # the pipes may still hold output
        process.protocol.outReceived(b"!")
        process.protocol.processEnded(process.reason)
        assert self.successResultOf(result) == Run(b"out!", b"err", 3)
        assert self.clock.getDelayedCalls() == []

    def test_a_signal_reads_as_128_and_its_number(self) -> None:
        result, process = self.start()
        process.end(signal=15)
        assert self.successResultOf(result).status == 143

    def test_output_is_kept_up_to_64_kib_and_the_rest_forgotten(self) -> None:
        result, process = self.start()
        for _ in range(100):
            process.protocol.outReceived(b"o" * 60_000)
            process.protocol.errReceived(b"e" * 1000)
        process.end()
        run = self.successResultOf(result)
        assert (len(run.stdout), len(run.stderr)) == (STREAM_BYTES, STREAM_BYTES)

    def test_over_time_it_is_killed_with_its_children_and_answered_at_once(self) -> None:
        result, process = self.start()
        process.protocol.outReceived(b"so far")
        self.clock.advance(TIMEOUT - 0.1)
        self.assertNoResult(result)
        self.clock.advance(0.1)
        assert self.killed == [100]
        assert process.signals == ["KILL"]  # for the instant before it has a group
        assert self.successResultOf(result) == Run(b"so far", b"", 124)
        process.end(signal=9)
        assert self.clock.getDelayedCalls() == []

    def test_what_it_left_in_the_background_ends_with_it(self) -> None:
        _, process = self.start()
        process.leave()
        assert self.killed == [100]

    def test_pipes_that_another_session_holds_are_closed_after_a_moment(self) -> None:
        result, process = self.start()
        process.leave()
        self.clock.advance(LINGER)
        assert process.closed
        process.protocol.processEnded(process.reason)
        assert self.successResultOf(result) == Run(b"", b"", 0)

    def test_requests_share_the_run_under_way(self) -> None:
        results = [self.runner.run("check") for _ in range(100)]
        (process,) = self.processes.started
        process.protocol.outReceived(b"once")
        process.end()
        assert {self.successResultOf(result) for result in results} == {Run(b"once", b"", 0)}

    def test_the_next_request_gets_a_new_run(self) -> None:
        _, first = self.start()
        first.end()
        again, second = self.start()
        assert first is not second
        second.end(1)
        assert self.successResultOf(again).status == 1

    def test_different_commands_do_not_share(self) -> None:
        self.runner.run("owner")
        self.runner.run("health")
        assert len(self.processes.started) == 2

    def test_who_gives_up_waiting_takes_nothing_from_the_others(self) -> None:
        impatient, patient = self.runner.run("check"), self.runner.run("check")
        impatient.cancel()
        self.failureResultOf(impatient, CancelledError)
        assert self.killed == []
        self.processes.started[0].end()
        assert self.successResultOf(patient).status == 0

    def test_processes_that_will_not_die_count_until_they_are_gone(self) -> None:
        for number in range(MOST_PROCESSES):
            result, _ = self.start(f"stuck {number}")
            self.clock.advance(TIMEOUT)
            assert self.successResultOf(result).status == 124
        refused = self.successResultOf(self.runner.run("one more"))
        assert refused == Run(b"", b"earlier commands have not ended", 126)
        self.processes.started[0].end(signal=9)
        _, process = self.start("one more")
        assert process.arguments[-1] == b"one more"

    def test_a_host_without_room_for_a_process_is_an_answer(self) -> None:
        self.processes.refusal = OSError(errno.EAGAIN, "Resource temporarily unavailable")
        refused = self.successResultOf(self.runner.run("check"))
        assert refused == Run(b"", b"cannot be run: Resource temporarily unavailable", 126)
        self.processes.refusal = None
        result, process = self.start()
        process.end()
        assert self.successResultOf(result).status == 0

    def test_a_command_may_end_before_it_is_said_to_have_started(self) -> None:
        self.processes.on_start = lambda process: process.end(7)
        result, _ = self.start()
        assert self.successResultOf(result).status == 7

    def test_stopping_kills_what_runs_and_starts_nothing_more(self) -> None:
        first, one = self.start("owner")
        second, other = self.start("health")
        self.runner.stop()
        assert sorted(self.killed) == [100, 101]
        one.end(signal=9)
        other.end(signal=9)
        assert self.successResultOf(first).status == self.successResultOf(second).status == 137
        assert self.successResultOf(self.runner.run("owner")).status == 126
        assert len(self.processes.started) == 2


@pytest.mark.parametrize("chunk", [1, 1000, STREAM_BYTES, STREAM_BYTES + 1, 10 * STREAM_BYTES])
def test_the_cap_does_not_depend_on_how_output_arrives(chunk: int) -> None:
    processes, clock = FakeProcesses(), Clock()
    results: list[Run] = []
    CommandRunner(processes, clock, TIMEOUT, {}, lambda _: None).run("check").addCallback(results.append)
    sent = b"0123456789" * (STREAM_BYTES // 5)
    for start in range(0, len(sent) if chunk > 1 else 100, chunk):
        processes.started[0].protocol.outReceived(sent[start : start + chunk])
    processes.started[0].end()
    assert results[0].stdout == sent[: STREAM_BYTES if chunk > 1 else 100]
