"""Running the owner and health commands: one run at a time of each, bounded in time, output and number.

A command is a shell command line, as the Go agent runs it: ``/bin/sh -c COMMAND``, with nothing on standard input.
A request that arrives while the same command runs gets the result of that run, so however fast an agent is polled,
it starts no more processes than it has commands. A run that is over time is answered at once with status 124; its
process counts against MOST_PROCESSES until the kernel has buried it.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IDelayedCall, IProcessTransport, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from koth_agent.run import CANNOT_RUN, OVER_TIME, SIGNALLED, Run

MOST_PROCESSES = 4
STREAM_BYTES = 64 * 1024  # of each stream; what comes after is read, so that the command goes on, and forgotten
LINGER = 1.0  # seconds that the pipes stay open after the command's own end, if somebody else still holds them

# spawnProcess can't put a child into a process group of its own, and once the child runs its program the parent may
# not do it either. So a Python without site packages (about 10 ms) does, and becomes the shell. A session, rather
# than only a group, also keeps Ctrl-C in the agent's terminal from the command. Python ignores SIGPIPE; a shell's
# pipelines must not inherit that.
LAUNCH = (
    "import os, signal, sys;"
    "os.setsid();"
    "signal.signal(signal.SIGPIPE, signal.SIG_DFL);"
    "os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])"
)


def kill_group(group: int) -> None:
    """End every process of the process group *group* that is left and may be killed by us.

    A group that has just become empty is no trouble: its number is not given away again within the same instant.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class CommandRunner:
    """Runs command lines; equal ones at the same time are one run."""

    def __init__(
        self,
        processes: IReactorProcess,
        clock: IReactorTime,
        timeout: float,
        environment: Mapping[bytes, bytes],
        kill: Callable[[int], None] = kill_group,
    ) -> None:
        self._spawner = processes
        self._clock = clock
        self._timeout = timeout  # seconds
        self._environment = environment
        self._kill = kill
        self._under_way: dict[str, _Command] = {}
        self._processes: set[_Command] = set()
        self._stopped = False

    def run(self, command: str) -> Deferred[Run]:
        """The result of the run of *command* that is under way, or of a new one. Never fails: see ``Run.status``."""
        under_way = self._under_way.get(command)
        if under_way is not None:
            return under_way.result()
        if self._stopped:
            return succeed(Run(b"", b"the agent is stopping", CANNOT_RUN))
        if len(self._processes) >= MOST_PROCESSES:
            return succeed(Run(b"", b"earlier commands have not ended", CANNOT_RUN))
        return self._start(command)

    def stop(self) -> None:
        """Kill every command with its children, and start no more."""
        self._stopped = True
        for process in tuple(self._processes):
            process.kill()

    def _start(self, command: str) -> Deferred[Run]:
        process = _Command(self._clock, self._timeout, self._kill)
        process.settled = lambda: self._under_way.pop(command, None)
        process.buried = lambda: self._processes.discard(process)
        # Noted before it starts: a command can end before spawnProcess() returns.
        self._under_way[command] = process
        self._processes.add(process)
        result = process.result()
        try:
            self._spawner.spawnProcess(
                process,
                sys.executable,
                [os.fsencode(word) for word in (sys.executable, "-I", "-S", "-c", LAUNCH, command)],
                self._environment,
            )
        except OSError as error:  # the host is short of processes, memory or descriptors
            process.fail(f"cannot be run: {error.strerror}")
        return result


class _Command(ProcessProtocol):
    """One process: started, listened to, killed if it must be, and answered for once."""

    transport: IProcessTransport | None
    settled: Callable[[], object]  # called when the run's result is known,
    buried: Callable[[], object]  # and when its process is gone

    def __init__(self, clock: IReactorTime, timeout: float, kill: Callable[[int], None]) -> None:
        self._clock = clock
        self._timeout = timeout
        self._kill_group = kill
        self._group: int | None = None
        self._timer: IDelayedCall | None = None
        self._stdout = bytearray()
        self._stderr = bytearray()
        self._status = 0
        self._is_settled = False
        self._waiting: list[Deferred[Run]] = []

    def result(self) -> Deferred[Run]:
        """The run's result, for one more who waits. Cancelling it leaves the run, and the others, alone."""
        waiter: Deferred[Run] = Deferred(self._waiting.remove)
        self._waiting.append(waiter)
        return waiter

    def kill(self) -> None:
        """End the command with its children."""
        if self._group is not None:
            self._kill_group(self._group)
        if self.transport is not None:  # in its first milliseconds it has no group of its own yet
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess("KILL")

    def fail(self, why: str) -> None:
        """Answer for a command that never ran."""
        self._stderr += why.encode("utf-8")
        self._settle(CANNOT_RUN)
        self.buried()

    def connectionMade(self) -> None:
        assert self.transport is not None  # noqa: S101 - spawnProcess connects before it calls
        self._group = self.transport.pid
        self.transport.closeStdin()
        self._timer = self._clock.callLater(self._timeout, self._over_time)

    def outReceived(self, data: bytes) -> None:  # noqa: N802
        self._stdout += data[: STREAM_BYTES - len(self._stdout)]

    def errReceived(self, data: bytes) -> None:  # noqa: N802
        self._stderr += data[: STREAM_BYTES - len(self._stderr)]

    def processExited(self, reason: Failure) -> None:  # noqa: N802
        """The shell has ended. What it left in the background would add up, poll by poll: that ends too.

        Output already written is still read. Only a process that made a session of its own can go on to hold the
        pipes, and that is not waited for.
        """
        self._status = _exit_status(reason)
        if self._group is not None:
            self._kill_group(self._group)
        self._set_timer(LINGER, self._close)

    def processEnded(self, reason: Failure) -> None:  # noqa: ARG002, N802
        self._set_timer(None)
        self.buried()
        self._settle(self._status)

    def _over_time(self) -> None:
        self._timer = None
        self.kill()
        self._settle(OVER_TIME)

    def _close(self) -> None:
        self._timer = None
        assert self.transport is not None  # noqa: S101 - as above
        self.transport.loseConnection()

    def _set_timer(self, delay: float | None, then: Callable[[], None] | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if delay is not None and then is not None:
            self._timer = self._clock.callLater(delay, then)

    def _settle(self, status: int) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        self.settled()
        run = Run(bytes(self._stdout), bytes(self._stderr), status)
        while self._waiting:  # one by one, for an answer to one may make another give up
            self._waiting.pop().callback(run)


def _exit_status(reason: Failure) -> int:
    """The exit status as a shell tells it: 128+N for signal N."""
    ended = reason.value
    if not isinstance(ended, ProcessTerminated):
        return 0
    return int(ended.exitCode if ended.signal is None else SIGNALLED + ended.signal)
