"""News of other nodes and other programs on PostgreSQL: ``LISTEN`` in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec
import psycopg
from sqlalchemy.engine import URL
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ctfd_twisted.db.engine import ALIVE, CHANNEL
from ctfd_twisted.db.notices import EVERYTHING, Bus
from ctfd_twisted.db.threads import FromThread

#: Seconds after which a lost connection is tried again, and how long one wait for news lasts: what others commit is to
#: be known within a second.
RETRY: Final = 0.5


class _News(msgspec.Struct):
    """What a node of ours tells of its commit; other programs' triggers send a bare ``table <name>``."""

    node: str
    topics: list[str]


_decode = msgspec.json.Decoder(_News).decode


def topics_of(payload: str, node: str) -> frozenset[str]:
    """The topics that a notification tells to *node*: none of its own, all where a table's name is all we know."""
    if not payload.startswith("{"):
        return frozenset({EVERYTHING})
    try:
        news = _decode(payload)
    except msgspec.DecodeError:
        return frozenset({EVERYTHING})
    return frozenset() if news.node == node else frozenset(news.topics)


class Listener(Service):
    """Publishes on the bus what other nodes and programs commit.

    While the connection is down nothing is heard, so everything is published when it is back.
    """

    log = Logger()

    def __init__(self, url: URL, node: str, bus: Bus, call_from_thread: FromThread) -> None:
        self._url = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._options: dict[str, Any] = {name: value for name, value in ALIVE.items() if name not in url.query}
        self._options["application_name"] = f"ctfp:{node}"
        self._node = node
        self._bus = bus
        self._call_from_thread = call_from_thread
        self._stopping = threading.Event()
        self._stopped: Deferred[None] = Deferred()

    def startService(self) -> None:
        """Begin to listen."""
        super().startService()
        threading.Thread(target=self._listen, name="postgresql-listener", daemon=True).start()

    def stopService(self) -> Deferred[None]:
        """Stop listening; fires when the connection is closed."""
        super().stopService()
        self._stopping.set()
        return self._stopped

    def _listen(self) -> None:
        deaf = False
        while not self._stopping.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, **self._options) as conn:
                    conn.execute(f'LISTEN "{CHANNEL}"')
                    if deaf:
                        self.log.info("there are news from the database again")
                    deaf = False
                    self._hear(conn)
            except psycopg.Error as error:
                if not deaf:  # said once, and not twice a second until the server is back
                    self.log.warn("no news from the database: {error}; trying again", error=_one_line(error))
                deaf = True
                self._stopping.wait(RETRY)
        self._call_from_thread(self._stopped.callback, None)

    def _hear(self, conn: psycopg.Connection[Any]) -> None:
        tell: Callable[[frozenset[str]], None] = self._bus.publish
        self._call_from_thread(tell, frozenset({EVERYTHING}))
        while not self._stopping.is_set():
            for notice in conn.notifies(timeout=RETRY, stop_after=1):
                self._call_from_thread(tell, topics_of(notice.payload, self._node))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
