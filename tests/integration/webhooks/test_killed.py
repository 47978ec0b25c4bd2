"""kill -9 at any moment: what was committed is delivered, with the same id; what was not is nowhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.testing.webhooks import Receiver, an_endpoint
from ctfd_twisted.webhooks.outbox import CLAIM
from ctfd_twisted.webhooks.tables import events
from tests.integration.webhooks.network import Spin, reactor, site
from tests.integration.webhooks.nodes import Node

ROOT = Path(__file__).parents[3]
# Emits an event, and dies as kill -9 does, before or after the commit.
VICTIM = """
import os, signal, sys
from datetime import UTC, datetime
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.events import EXAMPLES
def die():
    os.kill(os.getpid(), signal.SIGKILL)
with open_engines(sys.argv[1]).writer() as conn:
    transaction = conn.begin()
    store.emit(conn, datetime.now(UTC), EXAMPLES[0])
    if sys.argv[2] == "before":
        die()
    transaction.commit()
    die()
"""
# A node that delivers until it is killed.
DELIVERER = """
import sys
from tests.integration.webhooks.network import reactor
from tests.integration.webhooks.nodes import Node
node = Node(sys.argv[1])
reactor.callWhenRunning(node.start)
reactor.run()
"""


def program(text: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", text, *arguments], cwd=ROOT)


def prepare(url: str, port: int) -> None:
    engines = open_engines(url)
    with engines.writer() as conn, conn.begin():
        an_endpoint(conn, url=f"http://127.0.0.1:{port}/hook")
    engines.close()


async def delivered(node: Node, receiver: Receiver, number: int) -> None:
    """Let *node* run until *receiver* has got *number* events, and a little longer."""
    node.start()
    while len(receiver.events) < number:
        await deferLater(reactor, 0.02)
    await deferLater(reactor, 0.3)
    await node.stop()


def test_an_event_whose_node_dies_after_the_commit_is_delivered(
    spin: Spin, listening: Callable[..., int], database_url: str
) -> None:
    receiver = Receiver(lambda: "")
    prepare(database_url, listening(site(receiver.app.resource())))
    assert program(VICTIM, database_url, "after").wait(30) == -signal.SIGKILL
    spin(delivered(Node(database_url), receiver, 1))
    assert [one.event for one in receiver.events] == ["user.created"]


def test_an_event_whose_node_dies_before_the_commit_is_nowhere_and_leaves_no_gap(
    spin: Spin, listening: Callable[..., int], database_url: str
) -> None:
    receiver = Receiver(lambda: "")
    prepare(database_url, listening(site(receiver.app.resource())))
    assert program(VICTIM, database_url, "before").wait(30) == -signal.SIGKILL
    assert program(VICTIM, database_url, "after").wait(30) == -signal.SIGKILL
    spin(delivered(Node(database_url), receiver, 1))
    assert len(receiver.events) == 1
    engines = open_engines(database_url)
    with engines.writer() as conn:
        assert conn.execute(select(events.c.seq)).scalars().all() == [1]
    engines.close()


def test_a_delivery_whose_node_dies_under_way_is_sent_again_with_the_same_id(
    spin: Spin, listening: Callable[..., int], database_url: str
) -> None:
    begun: Deferred[None] = Deferred()

    def hold(_request: Any) -> Any:
        receiver.answer = lambda _: b""
        begun.callback(None)
        return Deferred()  # never answered

    receiver = Receiver(lambda: "", hold)
    prepare(database_url, listening(site(receiver.app.resource())))
    assert program(VICTIM, database_url, "after").wait(30) == -signal.SIGKILL
    deliverer = program(DELIVERER, database_url)

    async def story() -> None:
        await begun
        os.kill(deliverer.pid, signal.SIGKILL)
        assert deliverer.wait(30) == -signal.SIGKILL
        # What the dead node had claimed is believed for a while; then it is anybody's.
        await delivered(Node(database_url, ahead=CLAIM.total_seconds() + 1), receiver, 2)

    try:
        spin(story())
    finally:
        deliverer.kill()
        deliverer.wait()
    first, second = receiver.events
    assert (first.id, first.body) == (second.id, second.body)
