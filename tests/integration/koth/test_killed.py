"""kill -9 at any moment, and nodes that race: no tick is paid twice, and none is left out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.leases import acquire
from ctfd_twisted.koth.poller import RENEWAL, TTL
from ctfd_twisted.koth.recording import LEASE, AlreadyRecorded, Moment, record_tick
from ctfd_twisted.koth.store import read_directory
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing.builders import a_user
from ctfd_twisted.testing.fake_agent import FakeAgent
from ctfd_twisted.testing.hills import a_hill, evidence
from tests.integration.koth.nodes import Node
from tests.integration.webhooks.network import Spin, reactor, site

ROOT = Path(__file__).parents[3]
# A node that polls until it is killed.
POLLER = """
import sys
from tests.integration.webhooks.network import reactor
from tests.integration.koth.nodes import Node
node = Node(sys.argv[1])
reactor.callWhenRunning(node.start)
reactor.run()
"""


def prepare(url: str, port: int) -> int:
    engines = open_engines(url)
    with engines.writer() as conn, conn.begin():
        write_config(conn, {"setup": True})
        a_user(conn, name="ada")
        hill = a_hill(conn, url=f"http://127.0.0.1:{port}/status", interval=1, timeout=1)
    engines.close()
    return hill


def recorded(url: str) -> tuple[list[tuple[int, str]], list[datetime]]:
    engines = open_engines(url)
    with engines.writer() as conn:
        rows = conn.execute(select(ticks.c.tick, ticks.c.outcome).order_by(ticks.c.tick)).all()
        dates = conn.execute(select(awards.c.date).order_by(awards.c.date)).scalars().all()
    engines.close()
    return [(tick, outcome) for tick, outcome in rows], list(dates)


def test_a_node_that_dies_in_the_middle_of_a_tick_leaves_it_missed_and_the_next_goes_on_within_ten_seconds(
    spin: Spin, listening: Callable[..., int], database_url: str
) -> None:
    agent, asked = FakeAgent("ada"), Deferred[None]()

    def third(_path: str) -> None:
        if len(agent.asked) == 3:
            agent.hangs = True
            asked.callback(None)

    agent.hook = third
    prepare(database_url, listening(site(agent)))
    victim = subprocess.Popen([sys.executable, "-c", POLLER, database_url], cwd=ROOT)
    heir = Node(database_url)

    async def story() -> float:
        await asked
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait(30) == -signal.SIGKILL
        agent.hangs = False
        died = reactor.seconds()
        heir.start()
        while len(agent.asked) < 4:
            await deferLater(reactor, 0.05)
        took = reactor.seconds() - died
        while len(agent.asked) < 6:
            await deferLater(reactor, 0.05)
        await heir.stop()
        return float(took)

    try:
        took = spin(story())
    finally:
        victim.kill()
        victim.wait()
    assert took < TTL + RENEWAL + 2 <= 10
    outcomes, dates = recorded(database_url)
    assert [tick for tick, _ in outcomes] == list(range(len(outcomes))), "each once, none left out"
    assert [outcome for _, outcome in outcomes[:3]] == ["held", "held", "missed"], "the third was under way"
    assert {outcome for _, outcome in outcomes} == {"held", "missed"}
    assert len(dates) == len(set(dates)) == sum(outcome == "held" for _, outcome in outcomes)


def test_of_two_nodes_at_once_exactly_one_polls(spin: Spin, listening: Callable[..., int], database_url: str) -> None:
    agent = FakeAgent("ada")
    prepare(database_url, listening(site(agent)))
    one, two = Node(database_url), Node(database_url)

    async def story() -> None:
        one.start()
        two.start()
        while len(agent.asked) < 4:
            await deferLater(reactor, 0.05)
        await one.stop()
        await two.stop()

    spin(story())
    outcomes, dates = recorded(database_url)
    assert len(agent.asked) == len(outcomes) == len(dates) == len(set(dates))
    assert {outcome for _, outcome in outcomes} == {"held"}


def test_two_that_believe_to_hold_the_lease_record_each_tick_once(engines: Engines) -> None:
    start = datetime(2026, 3, 14, 12, tzinfo=UTC)
    rounds, results = 20, []
    with engines.writer() as conn, conn.begin():
        a_user(conn, name="ada")
        hill = a_hill(conn, interval=1)
        directory = read_directory(conn)
        acquire(conn, start, LEASE, "us", 1_000_000)
    barrier = threading.Barrier(2)

    def contender(other: Engines) -> None:
        for tick in range(rounds):
            due = start + timedelta(seconds=tick)
            barrier.wait(30)
            with other.write_engine.connect() as conn:
                transaction = conn.begin()
                try:
                    found = evidence(due, "ada")
                    results.append(record_tick(conn, due, "us", directory, hill, Moment(tick, due), found))
                    transaction.commit()
                except AlreadyRecorded:
                    transaction.rollback()

    url: Any = engines.write_engine.url
    rivals = [open_engines(url) for _ in range(2)]
    threads = [threading.Thread(target=contender, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for rival in rivals:
        rival.close()
    with engines.writer() as conn:
        assert conn.execute(select(func.count()).select_from(ticks)).scalar_one() == rounds
        assert conn.execute(select(func.sum(awards.c.value))).scalar_one() == rounds * 10
        assert conn.execute(select(hills.c.reign_ticks)).scalar_one() == rounds
    assert len(results) == rounds
