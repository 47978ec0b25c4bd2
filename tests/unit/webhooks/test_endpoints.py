"""The life of an endpoint, of a delivery and of the shared secret."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, select, update

from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.testing.webhooks import URL, an_endpoint
from ctfd_twisted.webhooks import deliveries as looked_at
from ctfd_twisted.webhooks import endpoints as registered
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.events import EXAMPLES
from ctfd_twisted.webhooks.shared_secret import read_shared_secret, rotate_shared_secret
from ctfd_twisted.webhooks.tables import deliveries, endpoints

HOUR = timedelta(hours=1)


def owe(conn: Connection, now: datetime, *states: str) -> list[str]:
    """One event per state; the ids of its deliveries to the only endpoint."""
    store.emit(conn, now, *EXAMPLES[:1] * len(states))
    ids = list(conn.execute(select(deliveries.c.id).order_by(deliveries.c.seq)).scalars())
    for id_, state in zip(ids, states, strict=True):
        conn.execute(update(deliveries).where(deliveries.c.id == id_).values(state=state, attempts=state != "pending"))
    return ids


def test_a_new_endpoint_is_pending_and_owed_nothing(conn: Connection, now: datetime) -> None:
    made = registered.create_endpoint(
        conn, now, url=URL, events=("user.created",), description="bot", standard_webhooks=True
    )
    assert (made.state, made.created, made.validated, made.pending_deliveries) == ("pending", now, None, 0)
    assert (made.url, made.events, made.description, made.standard_webhooks) == (URL, ("user.created",), "bot", True)
    store.emit(conn, now, EXAMPLES[0])
    assert registered.list_endpoints(conn) == (made,)


def test_validated_it_is_active_and_its_failures_are_forgotten(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn, state="disabled", failures=9, failing_since=now, last_error="The receiver is away.")
    shown = registered.activate_endpoint(conn, now, made, URL)
    assert (shown.state, shown.validated, shown.last_error) == ("active", now, None)
    assert conn.execute(select(endpoints.c.failures, endpoints.c.failing_since)).one() == (0, None)
    assert "webhooks" in taken_topics(conn)


def test_an_answer_for_an_old_url_does_not_activate_the_new_one(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn, state="pending", url="http://new/")
    with pytest.raises(Invalid, match="changed"):
        registered.activate_endpoint(conn, now, made, URL)
    registered.note_error(conn, made, URL, "old news")
    assert registered.show_endpoint(conn, made).last_error is None


def test_a_new_url_must_be_validated_and_gets_what_is_owed(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn, validated=now, failures=7, failing_since=now)
    owe(conn, now, "pending")
    same = registered.change_endpoint(conn, made, {"url": URL, "description": "x", "events": ("team.created",)})
    assert (same.state, same.description, same.events) == ("active", "x", ("team.created",))
    other = registered.change_endpoint(conn, made, {"url": "http://other/"})
    assert (other.state, other.validated, other.pending_deliveries) == ("pending", None, 1)


def test_only_what_an_admin_may_change_is_changed(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    assert registered.change_endpoint(conn, made, {"state": "disabled", "created": now}).state == "active"


@pytest.mark.parametrize("state", ["pending", "dead"])
def test_an_endpoint_with_undelivered_events_goes_after_a_confirmation(
    conn: Connection, now: datetime, state: str
) -> None:
    made = an_endpoint(conn)
    owe(conn, now, state, "delivered")
    with pytest.raises(Invalid, match="1 of its deliveries"):
        registered.remove_endpoint(conn, made, force=False)
    registered.remove_endpoint(conn, made, force=True)
    assert conn.execute(select(deliveries)).all() == []


def test_an_endpoint_with_nothing_undelivered_goes_at_once(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    owe(conn, now, "delivered")
    registered.remove_endpoint(conn, made, force=False)
    with pytest.raises(NotFound):
        registered.show_endpoint(conn, made)


def test_what_is_not_there_is_not_found(conn: Connection, now: datetime) -> None:
    with pytest.raises(NotFound):
        registered.change_endpoint(conn, 99, {})
    with pytest.raises(NotFound):
        registered.remove_endpoint(conn, 99, force=True)
    with pytest.raises(NotFound):
        registered.activate_endpoint(conn, now, 99, URL)
    with pytest.raises(NotFound):
        looked_at.list_deliveries(conn, 99, None, 0, 20)
    with pytest.raises(NotFound):
        looked_at.redeliver_dead(conn, now, 99)


def test_deliveries_are_listed_the_newest_first_by_state_and_page(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    owe(conn, now, "delivered", "dead", "pending", "dead")
    total, found = looked_at.list_deliveries(conn, made, None, 0, 3)
    assert (total, [(one.seq, one.state) for one in found]) == (4, [(4, "dead"), (3, "pending"), (2, "dead")])
    total, found = looked_at.list_deliveries(conn, made, "dead", 1, 3)
    assert (total, [one.seq for one in found]) == (2, [2])


def test_only_a_pending_delivery_has_a_next_attempt(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    owe(conn, now, "delivered", "dead", "pending")
    _, found = looked_at.list_deliveries(conn, made, None, 0, 3)
    assert [one.next_attempt for one in found] == [now, None, None]


def test_a_delivery_belongs_to_its_endpoint(conn: Connection, now: datetime) -> None:
    an_endpoint(conn)
    (id_,) = owe(conn, now, "dead")
    other = an_endpoint(conn, url="http://other/")
    with pytest.raises(NotFound):
        looked_at.show_delivery(conn, other, id_)
    with pytest.raises(NotFound):
        looked_at.redeliver(conn, now, other, id_)


def test_one_delivery_or_all_dead_ones_are_sent_once_more(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    delivered, *_ = owe(conn, now, "delivered", "dead", "dead", "pending")
    taken_topics(conn)
    again = looked_at.redeliver(conn, now, made, delivered)
    assert (again.id, again.state, again.next_attempt, again.attempts) == (delivered, "pending", now, 1)
    assert "webhooks" in taken_topics(conn)
    assert looked_at.redeliver_dead(conn, now, made) == 2
    assert looked_at.redeliver_dead(conn, now, made) == 0


def test_one_that_was_never_tried_stays_in_its_turn(conn: Connection, now: datetime) -> None:
    made = an_endpoint(conn)
    (id_,) = owe(conn, now, "pending")
    looked_at.redeliver(conn, now + HOUR, made, id_)
    assert conn.execute(select(deliveries.c.next_attempt)).scalar_one() is None


def test_the_log_is_read_after_a_number(conn: Connection, now: datetime) -> None:
    store.emit(conn, now, *EXAMPLES)
    last, found = looked_at.events_after(conn, 3)
    assert last == 5
    assert [(one.seq, one.event, one.body) for one in found] == [
        (seq, example.NAME, example.body()) for seq, example in enumerate(EXAMPLES[3:], 4)
    ]


def test_one_look_at_the_log_is_bounded(conn: Connection, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "LOOK", 2)
    store.emit(conn, now, *EXAMPLES)
    last, found = looked_at.events_after(conn, 1)
    assert (last, [one.seq for one in found]) == (5, [2, 3])


def test_the_secret_is_made_once(conn: Connection, now: datetime) -> None:
    made = read_shared_secret(conn, now)
    assert len(bytes.fromhex(made.secret)) == 32
    assert read_shared_secret(conn, now) == made
    assert made.signing == (made.secret,)


def test_a_rotated_secret_signs_beside_the_new_one_until_the_overlap_ends(conn: Connection, now: datetime) -> None:
    old = read_shared_secret(conn, now).secret
    new = rotate_shared_secret(conn, now, 3600)
    assert new.signing == (new.secret, old)
    assert read_shared_secret(conn, now + HOUR - timedelta(seconds=1)).signing == (new.secret, old)
    assert read_shared_secret(conn, now + HOUR).signing == (new.secret,)


def test_a_rotation_without_overlap_ends_every_older_secret(conn: Connection, now: datetime) -> None:
    first = read_shared_secret(conn, now).secret
    second = rotate_shared_secret(conn, now, 7 * 86_400).secret
    third = rotate_shared_secret(conn, now, 60)
    assert third.signing == (third.secret, second, first)
    assert {expires for _, expires in third.retired} == {now + timedelta(seconds=60)}
    fourth = rotate_shared_secret(conn, now, 0)
    assert fourth.signing == (fourth.secret,)
