"""A node's poller over a real database, with threads of its own."""

from __future__ import annotations

from sqlalchemy.engine import make_url
from twisted.python.threadpool import ThreadPool

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import start_in
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.handlers import hill_poller
from ctfd_twisted.koth.reach import Network
from tests.integration.webhooks.network import reactor


class Node:
    """One of several that may poll over one database."""

    def __init__(self, url: str) -> None:
        engines = open_engines(make_url(url))
        self.pool = ThreadPool(0, 1 if engines.dialect == "sqlite" else 4)
        self.pool.start()
        start = start_in(self.pool, reactor.callFromThread)
        self.db = Database(engines, Bus(), write=start, read=start)
        client = HillClient(reactor, Network(reactor))
        self.poller = hill_poller(reactor, self.db, client, node=engines.node, prefix="Service-Webhook")

    def start(self) -> None:
        self.poller.startService()

    async def stop(self) -> None:
        if self.poller.running:
            await self.poller.stopService()
        self.pool.stop()
        self.db.close()
