"""A node's dispatcher over a real database, with threads of its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import make_url
from twisted.python.threadpool import ThreadPool
from zope.interface import directlyProvides, providedBy

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import start_in
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.dispatcher import Dispatcher
from ctfd_twisted.webhooks.reach import Network
from tests.integration.webhooks.network import reactor


class Ahead:
    """The reactor, so many seconds later."""

    def __init__(self, seconds: float) -> None:
        self._ahead = seconds
        directlyProvides(self, providedBy(reactor))

    def seconds(self) -> float:
        return float(reactor.seconds()) + self._ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)


class Node:
    """One of several that may run over one database."""

    def __init__(self, url: str, ahead: float = 0.0) -> None:
        engines = open_engines(make_url(url))
        self.pool = ThreadPool(0, 1 if engines.dialect == "sqlite" else 4)
        self.pool.start()
        start = start_in(self.pool, reactor.callFromThread)
        self.db = Database(engines, Bus(), write=start, read=start)
        clock: Any = Ahead(ahead)
        client = WebhookClient(clock, Network(reactor), "Service-Webhook")
        self.dispatcher = Dispatcher(clock, self.db, client, lambda *_: None, engines.node)

    def start(self) -> None:
        self.dispatcher.startService()

    async def stop(self) -> None:
        if self.dispatcher.running:
            await self.dispatcher.stopService()
        self.pool.stop()
        self.db.close()
