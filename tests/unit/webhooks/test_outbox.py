"""Who gets what next, and what follows from an attempt."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.testing.webhooks import an_endpoint
from ctfd_twisted.webhooks import outbox, records, store
from ctfd_twisted.webhooks.events import EXAMPLES
from ctfd_twisted.webhooks.outbox import CLAIM, Claim
from ctfd_twisted.webhooks.outcomes import Attempt, Sent
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints

SECOND = timedelta(seconds=1)


def claim(conn: Connection, now: datetime, room: int = 64, node: str = "one") -> list[Claim]:
    found = outbox.claim_due(conn, now, node, room)
    return [] if found is None else list(found.claims)


def record(conn: Connection, now: datetime, what: Claim, status: int | None = 200, **values: Any) -> None:
    node = values.pop("node", "one")
    given = {"error": None if status else "no answer", "answer": b"", "retry_after": None, **values}
    attempt = Attempt(started=now, latency_ms=12, request_headers=(("A", "b"),), status=status, **given)
    sent = Sent(now, what, attempt, 0.5, more=False, anywhere=False)
    assert len(records.settle(node, lambda *_: None, conn, [sent], alone=True)) == 1


def happen(conn: Connection, now: datetime, times: int = 1) -> None:
    store.emit(conn, now, *EXAMPLES[:1] * times)


def row(conn: Connection, delivery_id: str) -> Any:
    return conn.execute(select(deliveries).where(deliveries.c.id == delivery_id)).one()


def endpoint(conn: Connection) -> Any:
    return conn.execute(select(endpoints)).one()


def test_nothing_is_claimed_where_nothing_is_due(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    assert not outbox.is_due(conn, now)
    assert outbox.claim_due(conn, now, "one", 64) is None


def test_events_never_tried_go_one_after_another_in_their_order(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 3)
    seen = []
    for _ in range(3):
        (first,) = claim(conn, now)
        assert claim(conn, now) == []
        seen.append(row(conn, first.delivery_id).seq)
        record(conn, now, first)
    assert seen == [1, 2, 3]
    assert not outbox.is_due(conn, now)


def test_a_failure_lets_the_next_event_pass_and_returns_later(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 2)
    (first,) = claim(conn, now)
    record(conn, now, first, 500)
    (second,) = claim(conn, now)
    assert row(conn, first.delivery_id).next_attempt == now + 5 * SECOND
    assert row(conn, second.delivery_id).seq == 2
    record(conn, now, second)
    assert claim(conn, now + 4 * SECOND) == []
    assert outbox.is_due(conn, now + 5 * SECOND)
    (again,) = claim(conn, now + 5 * SECOND)
    assert (again.delivery_id, again.attempts, again.body) == (first.delivery_id, 1, first.body)


def test_at_most_four_are_under_way_to_one_endpoint_and_one_of_them_is_new(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 5)
    for _ in range(5):
        (one,) = claim(conn, now)
        record(conn, now, one, 500)
        conn.execute(update(endpoints).values(failures=0))  # as if successes lay between
    happen(conn, now, 2)
    later = now + 6 * SECOND
    taken = claim(conn, later)
    assert sorted(one.attempts for one in taken) == [0, 1, 1, 1]
    assert claim(conn, later) == []


def test_an_open_circuit_leaves_one_probe_new_events_before_old(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 5)
    for _ in range(5):
        (one,) = claim(conn, now)
        record(conn, now, one, None)
    assert endpoint(conn).failures == 5
    happen(conn, now, 1)
    later = now + 6 * SECOND
    (probe,) = claim(conn, later)
    assert row(conn, probe.delivery_id).seq == 6
    assert claim(conn, later) == []
    record(conn, later, probe, None)
    (old,) = claim(conn, later)
    assert old.attempts == 1
    record(conn, later, old)
    assert endpoint(conn).failures == 0
    assert len(claim(conn, later)) == 4


def test_a_slow_endpoint_leaves_room_for_the_others(conn: Connection, now: datetime) -> None:
    slow, quick = an_endpoint(conn, url="http://slow/"), an_endpoint(conn, url="http://quick/")
    happen(conn, now, 3)
    first = claim(conn, now, room=2)
    assert sorted(one.endpoint_id for one in first) == [slow, quick]
    record(conn, now, next(one for one in first if one.endpoint_id == quick))
    assert [one.endpoint_id for one in claim(conn, now, room=1)] == [quick]


def test_scarce_room_goes_to_the_oldest_events(conn: Connection, now: datetime) -> None:
    for number in range(5):
        an_endpoint(conn, url=f"http://{number}/")
    happen(conn, now, 2)
    seen = []
    while taken := claim(conn, now, room=2):
        for one in taken:
            seen.append(row(conn, one.delivery_id).seq)
            record(conn, now, one)
    assert seen == [1] * 5 + [2] * 5


def test_a_claim_that_is_not_settled_ends(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 2)
    (lost,) = claim(conn, now, node="killed")
    assert claim(conn, now + CLAIM - SECOND) == []
    (found,) = claim(conn, now + CLAIM)
    assert found == lost


def test_claims_are_given_back(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (given,) = claim(conn, now, node="stopping")
    outbox.release(conn, "stopping")
    assert "webhooks" in taken_topics(conn)
    assert claim(conn, now) == [given]


@pytest.mark.parametrize("state", ["pending", "disabled"])
def test_what_is_owed_waits_until_its_endpoint_is_active(conn: Connection, now: datetime, state: str) -> None:
    an_endpoint(conn)
    happen(conn, now)
    conn.execute(update(endpoints).values(state=state))
    assert not outbox.is_due(conn, now)
    assert claim(conn, now) == []
    conn.execute(update(endpoints).values(state="active"))
    assert len(claim(conn, now)) == 1


def test_an_attempt_is_kept_with_what_was_sent_and_what_came_back(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (one,) = claim(conn, now)
    record(conn, now, one, 202, answer=b"\x00fine")
    kept = conn.execute(select(attempts)).one()
    assert (kept.number, kept.status, kept.error, kept.answer) == (1, 202, None, b"\x00fine")
    assert kept.request_headers == [["A", "b"]]
    done = row(conn, one.delivery_id)
    assert (done.state, done.attempts, done.last_status, done.latency_ms) == ("delivered", 1, 202, 12)
    assert (done.claimed_by, done.next_attempt) == (None, None)
    assert endpoint(conn).last_success == now


def test_after_the_last_attempt_a_delivery_is_dead_and_kept(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    instant = now
    for _ in range(10):
        (one,) = claim(conn, instant)
        record(conn, instant, one, 500)
        instant = row(conn, one.delivery_id).next_attempt
        conn.execute(update(endpoints).values(failures=0))
    (one,) = claim(conn, instant)
    record(conn, instant, one, 500)
    dead = row(conn, one.delivery_id)
    assert (dead.state, dead.attempts, dead.next_attempt, dead.last_error) == (
        "dead",
        11,
        None,
        "The receiver answered 500.",
    )
    assert claim(conn, instant + timedelta(days=9)) == []


def test_retry_after_is_obeyed(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (one,) = claim(conn, now)
    record(conn, now, one, 503, retry_after="3600")
    assert row(conn, one.delivery_id).next_attempt == now + timedelta(hours=1)


def test_gone_disables_the_endpoint_at_once(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 2)
    (one,) = claim(conn, now)
    taken_topics(conn)
    record(conn, now, one, 410)
    assert row(conn, one.delivery_id).state == "dead"
    assert (endpoint(conn).state, endpoint(conn).last_error) == ("disabled", "The receiver answered 410 Gone.")
    assert "webhooks" in taken_topics(conn)
    assert claim(conn, now) == []


def test_five_days_without_a_success_disable_an_endpoint(conn: Connection, now: datetime) -> None:
    an_endpoint(conn, last_success=now - timedelta(days=30))
    happen(conn, now, 3)
    for day, state in ((0, "active"), (4, "active"), (5, "disabled")):
        instant = now + timedelta(days=day)
        record(conn, instant, claim(conn, instant)[0], 500)
        assert endpoint(conn).state == state
    assert "5 days" in endpoint(conn).last_error


def test_a_success_ends_the_count_of_failing_days(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now, 3)
    for day, status in ((0, 500), (4, 200), (6, 500)):
        instant = now + timedelta(days=day)
        record(conn, instant, claim(conn, instant)[0], status)
    assert endpoint(conn).state == "active"
    assert endpoint(conn).failing_since == now + timedelta(days=6)


def test_what_an_old_address_did_says_nothing_about_the_new_one(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (one,) = claim(conn, now)
    conn.execute(update(endpoints).values(url="http://other/", state="pending"))
    record(conn, now, one, 410)
    assert (endpoint(conn).state, endpoint(conn).failures) == ("pending", 0)


def test_a_failure_is_not_planned_by_a_node_that_lost_its_claim_but_a_success_counts(
    conn: Connection, now: datetime
) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (slow,) = claim(conn, now, node="slow")
    (quick,) = claim(conn, now + CLAIM, node="quick")
    record(conn, now + CLAIM, slow, 500, node="slow")
    assert row(conn, quick.delivery_id).claimed_by == "quick"
    record(conn, now + CLAIM, slow, 200, node="slow")
    record(conn, now + CLAIM, quick, 500, node="quick")
    assert (row(conn, quick.delivery_id).state, row(conn, quick.delivery_id).attempts) == ("delivered", 3)


def test_an_endpoint_removed_meanwhile_is_nothing_to_record_for(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    happen(conn, now)
    (one,) = claim(conn, now)
    conn.execute(endpoints.delete())
    record(conn, now, one)
    assert conn.execute(select(attempts)).all() == []


def test_the_settings_of_egress_come_with_the_claims(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    write_config(conn, {"egress_deny": "198.51.100.0/24", "egress_private": False})
    happen(conn, now)
    found = outbox.claim_due(conn, now, "one", 1)
    assert found is not None
    assert not found.egress.private
    assert found.egress.refusal("198.51.100.7") is not None
    assert len(found.secret.signing) == 1


@given(outcomes=st.lists(st.sampled_from([200, 500, None, 429]), max_size=30))
def test_every_event_arrives_or_is_owed_whatever_receivers_do(memory_engine: Any, outcomes: list[int | None]) -> None:
    now = datetime.fromisoformat("2026-11-20T12:00:00+00:00")
    with memory_engine.connect() as conn, conn.begin() as transaction:
        an_endpoint(conn)
        happen(conn, now, 6)
        for step, status in enumerate(outcomes):
            instant = now + step * 20 * SECOND
            for one in claim(conn, instant):
                record(conn, instant, one, status)
        states = list(conn.execute(select(deliveries.c.state, deliveries.c.claimed_by)))
        assert len(states) == 6
        assert all(state in {"pending", "delivered"} and claimed is None for state, claimed in states)
        transaction.rollback()
