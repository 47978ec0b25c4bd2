"""The first process of several: it opens the doors, starts the workers, and starts those again that end."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred, DeferredList, ensureDeferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.runner.procmon import LoggingProtocol, ProcessMonitor

from ctfd_twisted.ops.node import LAST, PATIENCE, shown_address, why_not
from ctfd_twisted.ops.notify import READY, STOPPING, notify
from ctfd_twisted.ops.workers.doors import Door, family_of, open_door
from ctfd_twisted.ops.workers.lines import WorkerLines
from ctfd_twisted.settings import Settings, SettingsError

#: File descriptors of a worker: its orders come in by one, which ends when this process does, its state goes out.
ORDERS: Final = 0
STATE: Final = 3
#: Its figures are asked for by this one, where there are any.
LINE: Final = 4
#: The sockets that it accepts on come from here on.
FIRST_DOOR: Final = 10
#: The worker that does what one process alone may do.
SERVICES: Final = "services"

_STANDARD: Final = {ORDERS: "w", 1: "r", 2: "r", STATE: "r"}


class Orders(msgspec.Struct, frozen=True):
    """What a worker is told: its settings, and the sockets that are open for it. Pickled, since both ends are ours."""

    settings: Settings
    doors: tuple[Door, ...]


class WorkerProtocol(LoggingProtocol):
    """This end of a worker: it is told its orders, its lines go to the log, and its readiness to the supervisor."""

    #: The last line that it wrote to its standard error.
    last_line = ""

    def __init__(self, name: str, orders: Orders, supervisor: Supervisor) -> None:
        self.name = name
        self.service = supervisor
        self._orders = pickle.dumps(orders)
        self._supervisor = supervisor

    def connectionMade(self) -> None:
        """Tell it what to do. What it reads from stays open as long as this process lives."""
        super().connectionMade()
        self._output = WorkerLines(self.name, "stdout", self._supervisor)
        self._error = WorkerLines(self.name, "stderr", self._supervisor)
        transport: Any = self.transport
        transport.writeToChild(ORDERS, len(self._orders).to_bytes(4, "big") + self._orders)

    def childDataReceived(self, childFD: int, data: bytes) -> None:  # noqa: N802, N803 - Twisted's names
        """Learn its state, or what it prints."""
        if childFD == STATE:
            if READY.encode() in data:
                self._supervisor.is_ready(self.name)
            return
        if childFD == 2:  # noqa: PLR2004 - standard error
            lines = data.decode("utf-8", "replace").strip().splitlines()
            self.last_line = lines[-1] if lines else self.last_line
        ProcessProtocol.childDataReceived(self, childFD, data)

    def processEnded(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        """Have it started again, if it was not told to end."""
        super().processEnded(reason)
        self._supervisor.has_ended(self.name, self.last_line)


class Supervisor(ProcessMonitor):
    """The service that ``twistd`` runs where there are several workers.

    Workers of one generation have the same settings. SIGHUP begins the next one: when all of it are ready, the one
    before is told to end, and finishes what it has begun. The sockets stay open here, so nobody is refused meanwhile.

    :param settings: those of the first generation; ``listen`` is taken from these for good.
    :param reread: reads the configuration again, for the next; raises ``SettingsError``.
    """

    log = Logger()
    killTime = PATIENCE + LAST + 3  # noqa: N815 - procmon's name
    maxRestartDelay = 30  # noqa: N815 - procmon's name
    #: One that lived for less failed to start, which takes seconds: the next try is made later each time.
    threshold = 10

    def __init__(self, reactor: Any, settings: Settings, reread: Callable[[], Settings]) -> None:
        super().__init__(reactor)
        self._any_reactor = reactor
        self._settings = settings
        self._reread = reread
        self._ports: list[Any] = []  # Twisted's ports have more than ``IListeningPort`` says
        #: Gives the end that a worker inherits of the line on which its figures are asked for.
        self.line_to: Callable[[str], socket.socket] | None = None
        self._generation = 0
        self._orders: dict[str, Settings] = {}
        self._awaited: set[str] = set()
        self._retiring: tuple[str, ...] = ()
        self._proven = False
        self._gave_up = False
        self._ended: Deferred[None] | None = None

    # Doors

    def privilegedStartService(self) -> None:
        """Open the listeners, before privileges are dropped; ends the process with a line where one can't be opened."""
        for description in self._settings.listen if "web" in self._settings.roles else ():
            opening = ensureDeferred(open_door(self._reactor, description))
            opening.addCallbacks(self._opened, self._cannot_open, errbackArgs=(description,))
            if self._gave_up:
                sys.exit(1)  # here, because a Deferred would keep it to itself

    def _opened(self, port: IListeningPort) -> None:
        self._ports.append(port)
        self.log.info("Listening on {address}", address=shown_address(port.getHost()))

    def _cannot_open(self, failure: Any, description: str) -> None:
        self._give_up(f"--listen {description}: cannot listen: {why_not(failure)}")

    # Generations

    def startService(self) -> None:
        """Start the first generation."""
        super().startService()
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: self._any_reactor.callFromThread(self.reload))
        self._begin_generation(self._settings)

    def reload(self) -> None:
        """Begin a generation with the configuration as it is now; a wrong one is told, and all stays as it is."""
        if self._awaited or self._ended is not None:
            self.log.warn("SIGHUP: the workers are still being started; nothing is done")
            return
        try:
            settings = self._reread()
        except SettingsError as error:
            self.log.warn("SIGHUP: the configuration is wrong, so nothing is changed: {error}", error=error)
            return
        fixed = self._settings
        if (settings.listen, settings.metrics) != (fixed.listen, fixed.metrics):
            self.log.warn("SIGHUP: a change of --listen or --metrics needs a restart; the listeners stay as they are")
        self.log.info("SIGHUP: starting new workers")
        self._retiring = tuple(self._orders)
        self._begin_generation(settings)

    def _begin_generation(self, settings: Settings) -> None:
        self._generation += 1
        roles = settings.roles
        parts = {f"web-{self._generation}.{number}": frozenset({"web"}) for number in range(1, settings.workers + 1)}
        if "web" not in roles:
            parts = {}
        if roles - {"web"}:
            parts[f"{SERVICES}-{self._generation}"] = roles - {"web"}
        self._awaited = set(parts)
        for name, own in parts.items():
            fixed = {"workers": 1, "listen": self._settings.listen, "metrics": self._settings.metrics}
            self._orders[name] = msgspec.structs.replace(settings, roles=own, **fixed)
            self.addProcess(name, [])

    def startProcess(self, name: str) -> None:  # noqa: N802 - procmon's name
        """Start the worker *name* with its orders and its sockets, where it is still wanted."""
        if name in self.protocols or name not in self._orders:
            return
        protocol = self.protocols[name] = WorkerProtocol(name, Orders(self._orders[name], self._doors), self)
        self.timeStarted[name] = self._clock.seconds()
        sockets = {FIRST_DOOR + place: port.fileno() for place, port in enumerate(self._ports)}
        line = None if self.line_to is None else self.line_to(name)
        if line is not None:
            sockets[LINE] = line.fileno()
        command = [sys.executable, "-m", "ctfd_twisted.ops.workers.process", name]
        try:
            self._any_reactor.spawnProcess(
                protocol, command[0], command, env=_environment(), childFDs={**_STANDARD, **sockets}
            )
        except OSError:  # no process or file to be had just now: it is tried again
            self._monitoredProcessExited(name, Failure())
        finally:
            if line is not None:
                line.close()

    @property
    def _doors(self) -> tuple[Door, ...]:
        return tuple(
            Door(description, FIRST_DOOR + place, family_of(port))
            for place, (description, port) in enumerate(zip(self._settings.listen, self._ports, strict=False))
        )

    def is_ready(self, name: str) -> None:
        """Learn that the worker *name* is ready."""
        if name not in self._awaited:
            return  # one that was started again
        self._awaited.discard(name)
        if self._awaited:
            return
        retiring, self._retiring = self._retiring, ()
        for old in retiring:
            del self._orders[old]
            self.removeProcess(old)
        if not self._proven or retiring:
            self._proven = True
            self.log.info("Ready")
            notify(READY)

    # The end

    def has_ended(self, name: str, last_line: str) -> None:
        """Learn that the worker *name* is no more; *last_line* is what it said last."""
        if self._ended is not None:
            if not self.protocols and not self._ended.called:
                self._ended.callback(None)
        elif not self._proven and name in self._awaited:
            # None of them has ever served anybody, so another try would only hide why.
            self._give_up(last_line.removeprefix("ctfplatform: ") or f"the worker {name} could not start")
        elif name in self._awaited:
            self._keep_the_old(last_line)
        elif name in self._orders:
            self.log.warn("the worker {name} has ended by itself, and is started again", name=name)

    def _keep_the_old(self, reason: str) -> None:
        self.log.error("the new workers can't start, and those before go on: {reason}", reason=reason)
        self._awaited.clear()
        for name in [name for name in self._orders if name not in self._retiring]:
            del self._orders[name]
            self.removeProcess(name)
        self._retiring = ()

    def _give_up(self, reason: str) -> None:
        """End the process with status 1, having said why."""
        if self._gave_up:
            return
        self._gave_up = True
        self.log.critical("{reason}", reason=reason)
        # What twistd calls sys.stderr is its log.
        print(f"ctfplatform: {reason}", file=sys.__stderr__)
        self._any_reactor.addSystemEventTrigger("after", "shutdown", os._exit, 1)
        self._any_reactor.callWhenRunning(self._any_reactor.stop)

    def stopService(self) -> Deferred[Any]:  # type: ignore[override]  # services may, and this one has to wait
        """Tell the workers to end, and wait until they have; those that do not in time are killed."""
        notify(STOPPING)
        ended: Deferred[None] = Deferred()
        self._ended = ended
        super().stopService()
        closing = [maybeDeferred(port.stopListening) for port in self._ports]
        if not self.protocols:
            ended.callback(None)
        return DeferredList([ended, *closing], consumeErrors=True)


def _environment() -> dict[str, str]:
    """This process's, without what is meant for it alone."""
    own = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
    return {name: value for name, value in os.environ.items() if name not in own}
