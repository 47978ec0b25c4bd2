"""Where figures are taken from in a node, and where they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.application.service import MultiService
from twisted.internet.defer import Deferred

from ctfd_twisted.db.queue import Queue
from ctfd_twisted.koth.poller import HillPoller
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.mail.dispatcher import MailDispatcher
from ctfd_twisted.ops.metrics.figures import Family
from ctfd_twisted.ops.metrics.gauges import Gauges, Look, mail_owed, one, pools, queues, webhooks_owed
from ctfd_twisted.ops.metrics.lines import Switchboard, answer_on
from ctfd_twisted.ops.metrics.meter import Meter, Punctuality
from ctfd_twisted.ops.metrics.server import MetricsServer
from ctfd_twisted.ops.node import Node, Parts
from ctfd_twisted.ops.workers.supervisor import Supervisor
from ctfd_twisted.webhooks.dispatcher import Dispatcher


def measure(
    reactor: Any, node: Node, parts: Parts, meter: Meter, waiting: Mapping[tuple[str, str], Queue], endpoint: str | None
) -> None:
    """Tell what *meter* counts, and what there is to be seen of *parts* and of the queues *waiting*.

    Told at *endpoint*, or to the supervisor of this worker where there is none.
    """
    gauges = Gauges()
    gauges.add(queues(waiting), pools(parts.pools, parts.db), *_looks(reactor, parts))

    async def gather() -> list[Family]:
        return [*meter.families(), *await gauges.families()]

    def gathered() -> Deferred[list[Family]]:
        return Deferred.fromCoroutine(gather())

    Punctuality(reactor, meter.delays).setServiceParent(node)
    if endpoint is None:
        reactor.callWhenRunning(answer_on, reactor, gathered)
    else:
        MetricsServer(reactor, endpoint, gathered).setServiceParent(node)


def _looks(reactor: Any, parts: Parts) -> list[Look]:
    door, site, db = parts.door, parts.site, parts.db.aside()
    looks = [
        one("ctfplatform_ready", "Whether requests may be sent here.", lambda: door.closed is None),
        one("ctfplatform_connections", "Open connections of clients.", lambda: len(site.channels)),
    ]
    for service in parts.services:
        if isinstance(service, Hub):
            looks.append(one("ctfplatform_event_streams", "Those who listen at /events.", service.listeners))
        elif isinstance(service, HillPoller):
            looks.append(one("ctfplatform_polls_hills", "Whether this node has the lease.", service.leads))
        elif isinstance(service, Dispatcher):
            looks.append(_when_ready(parts, webhooks_owed(db, reactor)))
        elif isinstance(service, MailDispatcher):
            looks.append(_when_ready(parts, mail_owed(db, reactor)))
    return looks


def _when_ready(parts: Parts, look: Look) -> Look:
    """*look*, once there is a database with our tables."""
    return lambda: look() if parts.door.closed is None else ()


def measured(reactor: Any, supervisor: Supervisor, endpoint: str) -> MultiService:
    """*supervisor*, and the listener that tells the figures of all its workers."""
    gauges, together = Gauges(), MultiService()
    switchboard = Switchboard(reactor, lambda: Deferred.fromCoroutine(gauges.families()))
    supervisor.line_to = switchboard.connect
    MetricsServer(reactor, endpoint, switchboard.gather).setServiceParent(together)
    supervisor.setServiceParent(together)
    return together
