"""One running node: it opens its doors, brings the database up to date, starts its services, and ends cleanly."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from sqlalchemy.exc import DBAPIError
from twisted.application.service import IService, MultiService
from twisted.internet.defer import CancelledError, Deferred, DeferredList, ensureDeferred, fail, succeed
from twisted.internet.endpoints import serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IReactorCore, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.adopt import CannotMigrate
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.migrate import MigrationReport, migrate
from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.ops.health import FrontDoor
from ctfd_twisted.ops.memory import keep_for_answers, share_arenas, spare_the_collector
from ctfd_twisted.ops.notify import READY, STOPPING, notify

#: Seconds that requests and deliveries under way have to finish when the node is stopped.
PATIENCE: Final = 10
#: Seconds after those that threads have to end.
LAST: Final = 2


class Parts(msgspec.Struct, frozen=True):
    """What a node is made of, beside what it listens on."""

    db: Database
    door: FrontDoor
    site: QuietSite
    #: Raises ``OSError``, which says why, where uploads can't be kept; waits for the disk or a network.
    check_uploads: Callable[[], None]
    #: Opens the platform behind the door; called when the database is at the present schema.
    open: Callable[[], None]
    #: Started when the platform is open, stopped before the database is closed.
    services: Sequence[IService]
    pools: Sequence[ThreadPool]
    #: Runs a function in a thread that may wait for long, and gives its value to the Deferred.
    in_thread: Callable[[Callable[[], Any]], Deferred[Any]]


class Stage(msgspec.Struct, frozen=True):
    """What is around a node: *endpoint* is where a description says to listen, *tell* tells a supervisor its state.

    Not *alone*, it is one of several that share their sockets, and another says where they listen.
    """

    endpoint: Callable[[str], Any]
    tell: Callable[[str], object] = notify
    alone: bool = True


class Node(MultiService):
    """The service that ``twistd`` runs, or one of its workers."""

    log = Logger()

    def __init__(
        self, reactor: Any, parts: Parts, listen: Sequence[str], roles: frozenset[str], stage: Stage | None = None
    ) -> None:
        super().__init__()
        self._reactor = reactor
        self._stage = stage or Stage(partial(serverFromString, reactor))
        self._parts = parts
        self._listen = listen
        self._roles = roles
        self._ports: list[IListeningPort] = []
        self._starting: Deferred[None] = succeed(None)
        self._gave_up = False

    def privilegedStartService(self) -> None:
        """Open the listeners, before privileges are dropped; ends the process with a line where one can't be opened."""
        super().privilegedStartService()
        if self._stage.alone:
            self._open_doors()

    def _open_doors(self) -> None:
        for description in self._listen if "web" in self._roles else ():
            try:
                opening = self._stage.endpoint(description).listen(self._parts.site)
            except (ValueError, OSError, LookupError) as error:
                opening = fail(error)
            opening.addCallbacks(self._listens, self._cannot_listen, errbackArgs=(description,))
            if self._gave_up:
                sys.exit(1)  # here, because a Deferred would keep it to itself

    def startService(self) -> None:
        """Migrate in a thread, then open the platform."""
        super().startService()
        if self._stage.alone and hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: self._reactor.callFromThread(self._can_not_reload))
        share_arenas()
        keep_for_answers()
        for pool in self._parts.pools:
            pool.start()
        self._starting = ensureDeferred(self._start())

    async def _start(self) -> None:
        parts = self._parts
        engines = parts.db.engines
        try:
            report = await parts.in_thread(lambda: migrate(engines.write_engine, self._say_waiting))
            await parts.in_thread(engines.start_watch)
        except CancelledError:
            return  # the node was stopped while it waited
        except CannotMigrate as error:
            self._give_up(f"the database can't be used: {error}")
            return
        except DBAPIError as error:
            self._give_up(f"the database can't be opened: {' '.join(str(error.orig).split())}")
            return
        except Exception:  # noqa: BLE001 - whatever it was, a node without its database is none
            failure = Failure()
            self.log.failure("the database can't be opened", failure)
            self._give_up(f"the database can't be opened: {failure.getErrorMessage().splitlines()[0]}")
            return
        if "web" in self._roles and not await self._can_keep_uploads():
            return
        if not self.running:
            return
        self._log_start(report)
        parts.open()
        if not self._stage.alone:
            self._open_doors()  # not before: what comes meanwhile is for the workers that are ready, or waits
        for service in parts.services:
            service.setServiceParent(self)
        spare_the_collector()
        self.log.info("Ready")
        self._stage.tell(READY)

    async def _can_keep_uploads(self) -> bool:
        try:
            await self._parts.in_thread(self._parts.check_uploads)
        except CancelledError:
            return False  # the node was stopped while it waited
        except OSError as error:
            self._give_up(f"uploads can't be kept: {error}")
            return False
        return True

    def _log_start(self, report: MigrationReport) -> None:
        names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        self.log.info("{report}", report=str(report))
        self.log.info(
            "Database: {kind}; roles: {roles}",
            kind=names[self._parts.db.dialect],
            roles=", ".join(sorted(self._roles)),
        )

    def _can_not_reload(self) -> None:
        self.log.warn("SIGHUP: one process can't reload its configuration; restart it, or use --workers")

    def _say_waiting(self, text: str) -> None:
        def say() -> None:
            self._parts.door.closed = text
            self.log.info("{text}", text=text)

        self._reactor.callFromThread(say)

    def _listens(self, port: IListeningPort) -> None:
        self._ports.append(port)
        if self._stage.alone:
            self.log.info("Listening on {address}", address=shown_address(port.getHost()))

    def _cannot_listen(self, failure: Failure, description: str) -> None:
        self._give_up(f"--listen {description}: cannot listen: {why_not(failure)}")

    def _give_up(self, reason: str) -> None:
        """End the process with status 1, having said why."""
        self._gave_up = True
        self.log.critical("{reason}", reason=reason)
        # What twistd calls sys.stderr is its log.
        print(f"ctfplatform: {reason}", file=sys.__stderr__)
        reactor: IReactorCore = self._reactor
        # twistd has no way to end with a status of ours while the reactor runs.
        reactor.addSystemEventTrigger("after", "shutdown", os._exit, 1)
        reactor.callWhenRunning(reactor.stop)

    async def _stop(self) -> None:
        parts = self._parts
        self.running = 0  # from now on a start that is under way stays where it is
        self._stage.tell(STOPPING)
        parts.door.closed = "stopping"
        await DeferredList([_stopped(port) for port in self._ports], consumeErrors=True)
        # All at once, so that they have the same seconds and not one after the other.
        await DeferredList(
            [
                self._within(PATIENCE, self._starting, "the start"),
                self._within(PATIENCE, parts.site.end(), "a request"),
                self._within(PATIENCE, super().stopService(), "a service"),
            ]
        )
        # A transaction that still waits for a lock would hold up the end for as long as the lock lasts. Without it the
        # process ends as if killed, and the database rolls it back.
        await self._within(LAST, self._joined(), "a transaction")

    def _joined(self) -> Deferred[None]:
        """The threads are told to end and the database is closed; fires when both is done."""
        joined: Deferred[None] = Deferred()

        def join() -> None:
            for pool in self._parts.pools:
                pool.stop()
            self._parts.db.close()
            self._reactor.callFromThread(joined.callback, None)

        threading.Thread(target=join, name="end", daemon=True).start()
        return joined

    def stopService(self) -> Deferred[None]:
        """Stop listening, finish what is under way (at most :data:`PATIENCE` seconds), close the database."""
        return Deferred.fromCoroutine(self._stop())

    def _within(self, seconds: float, waiting: Any, what: str) -> Deferred[Any]:
        """Fires when *waiting* does, with the reason in the log where it fails, or when *seconds* are over."""
        clock: IReactorTime = self._reactor
        deferred: Deferred[Any] = waiting if isinstance(waiting, Deferred) else succeed(waiting)
        deferred.addTimeout(seconds, clock)
        return deferred.addErrback(
            lambda failure: self.log.warn("stopped with {what} under way: {why!r}", what=what, why=failure.value)
        )


def _stopped(port: IListeningPort) -> Deferred[Any]:
    stopping = port.stopListening()
    return stopping if isinstance(stopping, Deferred) else succeed(None)


def why_not(failure: Failure) -> str:
    """Why an endpoint can't be listened on."""
    if failure.check(CannotListenError):
        return str(getattr(failure.value, "socketError", failure.value))
    if failure.check(LookupError):
        return "systemd has passed on no such socket"
    return failure.getErrorMessage()


def shown_address(address: Any) -> str:
    """A listener's real address as a person reads it: ``http://127.0.0.1:8000`` or a socket's path."""
    host = getattr(address, "host", None)
    if host is None:
        return os.fsdecode(getattr(address, "name", None) or str(address))
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{address.port}"
