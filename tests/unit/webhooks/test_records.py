"""Attempts that end at the same moment are recorded as if each had been alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event, select

from ctfd_twisted.db.together import ALONE, Alone
from ctfd_twisted.testing.webhooks import an_endpoint
from ctfd_twisted.webhooks import outbox, records, store
from ctfd_twisted.webhooks.events import EXAMPLES
from ctfd_twisted.webhooks.outbox import Claim
from ctfd_twisted.webhooks.outcomes import Attempt, Sent
from ctfd_twisted.webhooks.records import Look, Settled
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints

SECOND = timedelta(seconds=1)


def sent(now: datetime, claim: Claim, status: int | None = 200, *, more: bool = False, anywhere: bool = False) -> Sent:
    attempt = Attempt(now, 7, (("A", "b"),), status, None if status else "no answer", b"")
    return Sent(now, claim, attempt, 0.5, more=more, anywhere=anywhere)


def settle(conn: Connection, *asked: Sent | Look, alone: bool = False) -> list[Settled | Alone]:
    told = records.settle("one", lambda *_: None, conn, asked, alone=alone)
    return [one for one in told if not isinstance(one, Exception)]


def claimed(conn: Connection, now: datetime, room: int = 64) -> tuple[Claim, ...]:
    found = outbox.claim_due(conn, now, "one", room)
    return () if found is None else found.claims


def following(told: Settled | Alone) -> list[int]:
    assert isinstance(told, Settled)
    return [] if told.claims is None else [claim.endpoint_id for claim in told.claims.claims]


def stored(conn: Connection) -> list[list[tuple[Any, ...]]]:
    asked = (
        select(deliveries).order_by(deliveries.c.id),
        select(endpoints).order_by(endpoints.c.id),
        select(attempts).with_only_columns(*[column for column in attempts.c if column.name != "id"]),
    )
    return [sorted(map(tuple, conn.execute(one)), key=lambda row: (row[0], row[1])) for one in asked]


@given(statuses=st.lists(st.sampled_from([200, 204, 500, None, 410, 503]), min_size=1, max_size=9))
def test_together_they_leave_what_each_alone_would(memory_engine: Engine, statuses: list[int | None]) -> None:
    now = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    with memory_engine.connect() as conn, conn.begin() as transaction:
        for _ in range(3):
            an_endpoint(conn)
        store.emit(conn, now, *EXAMPLES[:1] * 4)
        # Four of each endpoint are on their way: one that was never tried, and three retries.
        for _ in range(3):
            settle(conn, *(sent(now, claim, 500) for claim in claimed(conn, now)))
        claims = claimed(conn, now + 6 * SECOND)
        assert len(claims) == 12
        later = now + 7 * SECOND
        asked = [sent(later, claim, status) for claim, status in zip(claims, statuses, strict=False)]
        whole = conn.begin_nested()
        settle(conn, *asked)
        together = stored(conn)
        whole.rollback()
        for one in asked:
            settle(conn, one, alone=True)
        assert together == stored(conn)
        transaction.rollback()


def test_one_that_was_sent_twice_counts_twice(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    store.emit(conn, now, EXAMPLES[0])
    (claim,) = claimed(conn, now)
    settle(conn, sent(now, claim, 500), sent(now, claim, 200), sent(now, claim, 500))
    row = conn.execute(select(deliveries)).one()
    assert (row.state, row.attempts, row.last_status) == ("delivered", 3, 200)
    assert list(conn.execute(select(attempts.c.status).order_by(attempts.c.number)).scalars()) == [500, 200, 500]


def test_what_is_due_goes_to_those_who_have_room(conn: Connection, now: datetime) -> None:
    everybody = {an_endpoint(conn) for _ in range(3)}
    store.emit(conn, now, *EXAMPLES[:1] * 2)
    one, two = claimed(conn, now, room=2)
    told = settle(conn, sent(now, one, more=True), sent(now, two), Look(now, 3))
    assert set(chain.from_iterable(map(following, told))) == everybody
    assert [len(following(each)) for each in told] == [1, 0, 2]


def test_without_room_elsewhere_only_those_just_told_are_told_more(conn: Connection, now: datetime) -> None:
    for _ in range(3):
        an_endpoint(conn)
    store.emit(conn, now, *EXAMPLES[:1] * 2)
    (claim,) = claimed(conn, now, room=1)
    (told,) = settle(conn, sent(now, claim, more=True))
    assert following(told) == [claim.endpoint_id]
    (claim,) = told.claims.claims if isinstance(told, Settled) and told.claims else ()
    (told,) = settle(conn, sent(now, claim, more=True, anywhere=True))
    assert following(told) != [claim.endpoint_id]
    assert len(following(told)) == 1


def test_what_is_gone_is_left_to_be_done_alone(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    other = an_endpoint(conn)
    store.emit(conn, now, EXAMPLES[0])
    one, two = claimed(conn, now)
    conn.execute(endpoints.delete().where(endpoints.c.id == one.endpoint_id))
    assert settle(conn, sent(now, one), sent(now, two)) == [ALONE, Settled(None, None)]
    assert settle(conn, sent(now, one), alone=True) == [Settled(None, None)]
    assert two.endpoint_id == other
    assert conn.execute(select(deliveries.c.state)).scalars().all() == ["delivered"]


def test_ten_cost_hardly_more_statements_than_one(conn: Connection, now: datetime) -> None:
    for _ in range(10):
        an_endpoint(conn)
    store.emit(conn, now, *EXAMPLES[:1] * 3)
    claims = claimed(conn, now)
    counted: list[str] = []
    event.listen(conn, "before_cursor_execute", lambda *facts: counted.append(facts[2]))
    settle(conn, *(sent(now, claim, more=True) for claim in claims))
    # What was sent, its attempts, the deliveries, the endpoints; what is next, its mark, its body, and the secrets.
    assert len(counted) == 8
