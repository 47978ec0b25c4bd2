"""The listener that Prometheus asks: apart from the public one, so that nobody else can reach it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from twisted.application.service import Service
from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import serverFromString
from twisted.internet.interfaces import IListeningPort
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from ctfd_twisted.ops.metrics.figures import Family
from ctfd_twisted.ops.node import shown_address, why_not

#: Gives all figures of the moment.
Gather = Callable[[], Deferred[list[Family]]]
#: ``write(fn, *args)`` calls *fn* in a thread.
Write = Callable[..., Deferred[Any]]

#: Seconds after which an idle connection is closed; Prometheus asks every 15 or 60.
IDLE: Final = 150


class Figures(Resource):
    """``/metrics``: everything that is counted, as text."""

    isLeaf = True
    _log = Logger()

    def __init__(self, gather: Gather, write: Write) -> None:
        super().__init__()
        self._gather = gather
        self._write = write

    def render_GET(self, request: Request) -> int:
        """All figures in the form that is asked for; thousands of lines are written in a thread."""
        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)
        accepted = (request.getHeader(b"accept") or b"").decode("latin-1")

        def send(written: tuple[bytes, str]) -> None:
            body, content_type = written
            if not gone:
                request.setHeader(b"content-type", content_type.encode())
                request.setHeader(b"content-length", b"%d" % len(body))
                request.write(body)
                request.finish()

        def failed(failure: Failure) -> None:
            self._log.failure("the figures could not be told", failure)
            if not gone:
                request.setResponseCode(500)
                request.finish()

        telling = self._gather().addCallback(lambda families: self._write(as_text, families, accepted))
        telling.addCallback(send).addErrback(failed)
        return NOT_DONE_YET


def as_text(families: Sequence[Family], accepted: str) -> tuple[bytes, str]:
    """*families* in the form that the header ``Accept`` asks for, and its type."""
    encode, content_type = choose_encoder(accepted)
    return encode(_Collected(families)), content_type


class _Collected:
    """Families as the library wants them."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        metrics = []
        for family in self._families:
            metric = Metric(family.name, family.help, family.kind)
            for sample in family.samples:
                metric.add_sample(family.name + sample.suffix, sample.labels, sample.value)
            metrics.append(metric)
        return metrics


class _Site(Site):
    def log(self, request: object) -> None:
        """Write nothing."""


class MetricsServer(Service):
    """Listens where *description* says, before privileges are dropped, and from before the platform is ready."""

    name = "metrics"
    log = Logger()

    def __init__(self, reactor: Any, description: str, gather: Gather) -> None:
        self._reactor = reactor
        self._description = description
        # A thread of its own: whoever watches is not to wait for what is watched.
        self._thread = ThreadPool(0, 1, "metrics")
        root = Resource()
        root.putChild(b"metrics", Figures(gather, lambda *call: deferToThreadPool(reactor, self._thread, *call)))
        self._site = _Site(root, timeout=IDLE, reactor=reactor)
        self._port: IListeningPort | None = None

    def privilegedStartService(self) -> None:
        """Open the listener; ends the process with a line where it can't be opened."""
        super().privilegedStartService()
        failures: list[Failure] = []
        try:
            opening = serverFromString(self._reactor, self._description).listen(self._site)
        except (ValueError, OSError, LookupError):
            failures.append(Failure())
        else:
            opening.addCallbacks(self._listens, failures.append)
        if failures:
            line = f"--metrics {self._description}: cannot listen: {why_not(failures[0])}"
            self.log.critical("{line}", line=line)
            # What twistd calls sys.stderr is its log.
            print(f"ctfplatform: {line}", file=sys.__stderr__)
            sys.exit(1)

    def startService(self) -> None:
        """Be ready to write."""
        super().startService()
        self._thread.start()

    def stopService(self) -> Deferred[Any]:
        """Stop listening."""
        super().stopService()
        self._thread.stop()
        closing = None if self._port is None else self._port.stopListening()
        return closing if isinstance(closing, Deferred) else succeed(None)

    def _listens(self, port: IListeningPort) -> None:
        self._port = port
        self.log.info("Figures for Prometheus on {address}/metrics", address=shown_address(port.getHost()))
