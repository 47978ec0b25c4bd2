"""Several nodes over one database: each event once, in order; numbers without a gap; one first blood."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, func, select
from twisted.internet.task import deferLater

from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.together import ALONE
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user
from ctfd_twisted.testing.webhooks import Receiver, an_endpoint
from ctfd_twisted.webhooks import bodies, deliveries, outbox, records, store
from ctfd_twisted.webhooks import endpoints as registered
from ctfd_twisted.webhooks.events import EXAMPLES, Ping
from ctfd_twisted.webhooks.outcomes import Attempt, Sent
from ctfd_twisted.webhooks.records import Settled
from ctfd_twisted.webhooks.shared_secret import read_shared_secret, rotate_shared_secret
from ctfd_twisted.webhooks.tables import deliveries as owed
from ctfd_twisted.webhooks.tables import events
from tests.integration.webhooks.network import Spin, reactor, site
from tests.integration.webhooks.nodes import Node

Listen = Callable[..., int]
EVENTS = 60


class Numbered(Ping, frozen=True):
    """An event of a number, that endpoints may ask for."""

    NAME = "user.created"


def test_two_dispatchers_send_each_event_once_and_in_order(
    spin: Spin, listening: Listen, database_url: str, now: datetime
) -> None:
    under_way = Counter[str]()
    most = Counter[str]()

    def answer(request: Any) -> Any:
        name = request.path.decode()
        under_way[name] += 1
        most[name] = max(most[name], under_way[name])

        def finish() -> bytes:
            under_way[name] -= 1
            return b""

        return deferLater(reactor, random.uniform(0, 0.004), finish)  # noqa: S311 - no secret

    receiver = Receiver(lambda: "", answer)
    port = listening(site(receiver.app.resource()))
    paths = ["/a", "/b", "/c"]

    async def story() -> None:
        nodes = [Node(database_url), Node(database_url)]
        for path in paths:
            await nodes[0].db.run(partial(an_endpoint, url=f"http://127.0.0.1:{port}{path}"))
        for node in nodes:
            node.start()
        for number in range(EVENTS):
            await nodes[number % 2].db.run(store.emit, now, Numbered(number, ""))
        while len(receiver.events) < EVENTS * len(paths):
            await deferLater(reactor, 0.02)
        await deferLater(reactor, 1.2)  # whatever is sent twice is sent by now
        for node in nodes:
            await node.stop()

    spin(story())
    assert Counter(one.id for one in receiver.events).most_common(1)[0][1] == 1
    for path in paths:
        bodies_there = [one.body for one in receiver.events if one.uri == path]
        assert bodies_there == [Numbered(number, "").body() for number in range(EVENTS)]
    assert most == Counter(dict.fromkeys(paths, 1))


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_numbers_have_no_gap_and_are_seen_in_their_order(database_url: str, now: datetime) -> None:
    """Eight writers, some of whom change their mind, and a reader that remembers the last number it has seen."""
    engines = open_engines(database_url)

    def write(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - no secret
        for _ in range(20):
            with engines.writer() as conn:
                transaction = conn.begin()
                store.emit(conn, now, *EXAMPLES[: chance.randint(1, 3)])
                if chance.random() < 0.3:
                    transaction.rollback()
                else:
                    transaction.commit()

    def read(seen: list[int]) -> None:
        with engines.reader() as conn:
            _, found = deliveries.events_after(conn, seen[-1] if seen else 0)
            seen.extend(one.seq for one in found)

    seen: list[int] = []
    with ThreadPoolExecutor(8) as threads:
        writing = [threads.submit(write, seed) for seed in range(7)]
        while not all(one.done() for one in writing):
            read(seen)
        for one in writing:
            one.result()
    read(seen)
    with engines.reader() as conn:
        assert seen == list(range(1, conn.execute(select(func.count()).select_from(events)).scalar_one() + 1))
    engines.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_of_many_solves_at_once_one_is_first_blood(database_url: str, now: datetime) -> None:
    engines = open_engines(database_url)
    with engines.writer() as conn, conn.begin():
        challenge = a_challenge(conn)
        players = [a_user(conn) for _ in range(8)]

    def solve(player: int) -> None:
        with engines.writer() as conn, conn.begin():
            solve_id = a_solve(conn, challenge, player)
            store.emit_solve(conn, now, bodies.solve_created(conn, solve_id), listed=True, teams_mode=False)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(solve, players))
    with engines.reader() as conn:
        names = Counter(conn.execute(select(events.c.event)).scalars())
    assert names == {"solve.created": 8, "first_blood.created": 1}
    engines.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_an_endpoint_may_be_removed_while_events_happen(database_url: str, now: datetime) -> None:
    engines = open_engines(database_url)

    def churn() -> None:
        for _ in range(20):
            with engines.writer() as conn, conn.begin():
                made = an_endpoint(conn)
            with engines.writer() as conn, conn.begin():
                registered.remove_endpoint(conn, made, force=True)

    def happen() -> None:
        for _ in range(20):
            with engines.writer() as conn, conn.begin():
                store.emit(conn, now, EXAMPLES[0])

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work) for work in (churn, happen, churn, happen)]:
            done.result()
    with engines.reader() as conn:
        assert conn.execute(select(func.count()).select_from(events)).scalar_one() == 40
        assert conn.execute(select(func.count()).select_from(owed)).scalar_one() == 0
    engines.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_somebody_has_locked_keeps_no_other_outcome_waiting(database_url: str, now: datetime) -> None:
    engines = open_engines(database_url)
    with engines.writer() as conn, conn.begin():
        for _ in range(2):
            an_endpoint(conn)
        store.emit(conn, now, EXAMPLES[0])
    with engines.writer() as conn, conn.begin():
        found = outbox.claim_due(conn, now, "node", 64)
    assert found is not None
    attempt = Attempt(now, 7, (), 200, None, b"")
    sent = [Sent(now, claim, attempt, 0.5, more=True, anywhere=False) for claim in found.claims]
    with engines.writer() as other, other.begin():
        other.execute(owed.update().where(owed.c.id == sent[0].claim.delivery_id).values(next_attempt=now))
        with engines.writer() as conn, conn.begin():
            told = records.settle("node", lambda *_: None, conn, sent, alone=False)
        assert told == [ALONE, Settled(None, None)]
    with engines.writer() as conn, conn.begin():
        assert records.settle("node", lambda *_: None, conn, sent[:1], alone=True) == [Settled(None, None)]
        assert conn.execute(select(owed.c.state)).scalars().all() == ["delivered"] * 2
    engines.close()


def test_the_life_of_a_delivery_on_either_database(any_conn: Connection, now: datetime) -> None:
    made = registered.create_endpoint(
        any_conn, now, url="http://r/", events=("user.created",), description=None, standard_webhooks=False
    )
    registered.activate_endpoint(any_conn, now, made.id, "http://r/")
    store.emit(any_conn, now, *EXAMPLES)
    assert outbox.is_due(any_conn, now)
    found = outbox.claim_due(any_conn, now, "node", 64)
    assert found is not None
    (claim,) = found.claims
    attempt = Attempt(now, 7, (("A", "b"),), 500, None, b"\x00\xff")
    sent = Sent(now, claim, attempt, 0.5, more=True, anywhere=False)
    assert records.settle("node", lambda *_: None, any_conn, [sent], alone=False) == [Settled(None, None)]
    delivery, body, (answer,) = deliveries.show_delivery(any_conn, made.id, claim.delivery_id)
    assert (delivery.state, delivery.attempts, body, answer.answer) == ("pending", 1, EXAMPLES[0].body(), "\x00�")
    assert deliveries.redeliver(any_conn, now, made.id, claim.delivery_id).next_attempt == now
    assert deliveries.list_deliveries(any_conn, made.id, "pending", 0, 10)[0] == 1
    assert deliveries.redeliver_dead(any_conn, now, made.id) == 0
    first = read_shared_secret(any_conn, now)
    assert rotate_shared_secret(any_conn, now, 60).signing[1:] == first.signing
    changed = registered.change_endpoint(any_conn, made.id, {"url": "http://s/", "events": ("team.created",)})
    assert (changed.state, changed.events) == ("pending", ("team.created",))
    registered.note_error(any_conn, made.id, "http://s/", "no")
    assert registered.list_endpoints(any_conn)[0].last_error == "no"
    outbox.release(any_conn, "node")
    assert deliveries.events_after(any_conn, 4)[0] == 5
    registered.remove_endpoint(any_conn, made.id, force=True)


def test_a_body_is_kept_byte_for_byte(any_conn: Connection, now: datetime) -> None:
    ping = Ping(endpoint_id=1, date="ü\x00€")
    store.emit(any_conn, now, ping)
    assert any_conn.execute(select(events.c.body)).scalar_one() == ping.body()
