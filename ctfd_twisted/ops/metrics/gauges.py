"""What is looked up when somebody asks: queues and pools, who listens, what is owed, what the process takes."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy.pool import QueuePool
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.threadpool import ThreadPool

from ctfd_twisted import __version__
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.queue import Queue
from ctfd_twisted.errors import Busy
from ctfd_twisted.mail import backlog as mail
from ctfd_twisted.ops.metrics.figures import Family, counter, gauge
from ctfd_twisted.webhooks import backlog as webhooks

#: A look at something, made when somebody asks.
Look = Callable[[], Sequence[Family] | Awaitable[Sequence[Family]]]

_PAGE: Final = resource.getpagesize()
_SELF: Final = Path("/proc/self")
#: When this process was about to begin, as Unix time: this module is imported while it starts.
_BEGAN: Final = time.time() - time.process_time()
_log: Final = Logger()


class Gauges:
    """Everything that is looked at in this process; a look that fails is logged, and the others are told."""

    def __init__(self) -> None:
        self._looks: list[Look] = [process]

    def add(self, *looks: Look) -> None:
        """Look at these as well from now on."""
        self._looks.extend(looks)

    async def families(self) -> list[Family]:
        """What all looks see now."""
        found = await gatherResults([Deferred.fromCoroutine(_look(look)) for look in self._looks])
        return [family for families in found for family in families]


async def _look(look: Look) -> Sequence[Family]:
    try:
        seen = look()
        return await seen if isinstance(seen, Awaitable) else seen
    except Busy:
        return ()  # the database can't be read at present, and says so itself
    except Exception:  # noqa: BLE001 - one figure that is missing is better than none at all
        _log.failure("a figure could not be looked up")
        return ()


def process() -> list[Family]:
    """Memory, processor time and open files of this process, by the names that Prometheus's own clients use."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    families = [
        counter("process_cpu_seconds", "User and system CPU time.", [({}, usage.ru_utime + usage.ru_stime)]),
        gauge("process_start_time_seconds", "When the process was started, as Unix time.", ({}, _BEGAN)),
        counter(
            "python_gc_collections",
            "Rounds of the garbage collector.",
            (({"generation": str(age)}, one["collections"]) for age, one in enumerate(gc.get_stats())),
        ),
        gauge("ctfplatform_info", "The version that runs.", ({"version": __version__}, 1)),
    ]
    try:
        pages = int((_SELF / "statm").read_text().split()[1])
        files = len(tuple((_SELF / "fd").iterdir()))
    except OSError:
        return families  # no Linux, or no /proc
    return [
        *families,
        gauge("process_resident_memory_bytes", "Resident memory.", ({}, pages * _PAGE)),
        gauge("process_open_fds", "Open file descriptors.", ({}, files)),
    ]


def queues(named: Mapping[tuple[str, str], Queue]) -> Look:
    """How much is in queues, waiting or under way; named by who puts into them, and what is done there."""
    help_ = "What waits for a thread or is in one."
    return lambda: [
        gauge(
            "ctfplatform_queue_depth",
            help_,
            *(({"of": of, "work": work}, queue.waiting) for (of, work), queue in named.items()),
        )
    ]


def pools(threads: Sequence[ThreadPool], db: Database) -> Look:
    """How busy threads and connections are."""

    def look() -> list[Family]:
        connections = [
            gauge(
                "ctfplatform_database_connections",
                "Connections to the database that are in use.",
                *(
                    ({"pool": name}, pool.checkedout())
                    for name, pool in (("write", db.engines.write_engine.pool), ("read", db.engines.read_engine.pool))
                    if isinstance(pool, QueuePool)
                ),
            )
        ]
        busy = [({"pool": str(pool.name)}, len(pool.working)) for pool in threads]
        room = [({"pool": str(pool.name)}, pool.max) for pool in threads]
        return [
            gauge("ctfplatform_threads_busy", "Threads that work.", *busy),
            gauge("ctfplatform_threads", "Threads that there may be.", *room),
            *connections,
        ]

    return look


def one(name: str, help_: str, value: Callable[[], float]) -> Look:
    """A single number."""
    return lambda: [gauge(name, help_, ({}, value()))]


def webhooks_owed(db: Database, clock: IReactorTime) -> Look:
    """How far the webhooks are behind, as the database has it: the same on every node."""

    async def look() -> list[Family]:
        backlog: webhooks.Backlog = await db.read(webhooks.read_backlog, _now(clock))
        states: list[Any] = [({"state": state}, count) for state, count in sorted(backlog.endpoints.items())]
        return [
            gauge("ctfplatform_webhooks_owed", "Deliveries that are owed to active endpoints.", ({}, backlog.owed)),
            gauge("ctfplatform_webhook_lag_seconds", "How long the first is due.", ({}, backlog.late)),
            gauge("ctfplatform_webhooks_dead", "Deliveries that were given up.", ({}, backlog.dead)),
            gauge("ctfplatform_webhook_endpoints", "Endpoints by state.", *states),
        ]

    return look


def mail_owed(db: Database, clock: IReactorTime) -> Look:
    """How far the mail is behind, as the database has it: the same on every node."""

    async def look() -> list[Family]:
        backlog: mail.Backlog = await db.read(mail.read_backlog, _now(clock))
        return [
            gauge("ctfplatform_mail_owed", "Letters that are owed.", ({}, backlog.owed)),
            gauge("ctfplatform_mail_lag_seconds", "How long the first is due.", ({}, backlog.late)),
            gauge("ctfplatform_mail_given_up", "Letters that were given up.", ({}, backlog.given_up)),
        ]

    return look


def _now(clock: IReactorTime) -> datetime:
    return datetime.fromtimestamp(clock.seconds(), UTC)
