"""What the poller reads and notes: which hills, since when, along which grid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_secret, write_config
from ctfd_twisted.db.leases import acquire
from ctfd_twisted.koth import keys
from ctfd_twisted.koth.plans import PlannedHill, ask_reset, begin, begin_reset, end_reset, read_plan, rest
from ctfd_twisted.koth.recording import LEASE, Moment, NotTheHolder, record_tick
from ctfd_twisted.koth.schedule import commitment
from ctfd_twisted.koth.store import read_directory
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.testing.builders import a_challenge, a_user
from ctfd_twisted.testing.hills import a_hill, evidence

START = datetime(2026, 3, 14, 12, tzinfo=UTC)
US = "this node"


@pytest.fixture(autouse=True)
def lease(any_conn: Connection) -> None:
    acquire(any_conn, START, LEASE, US, 1_000_000)


def planned(conn: Connection, hill: int) -> PlannedHill:
    return next(entry for entry in read_plan(conn).hills if entry.challenge_id == hill)


def state(conn: Connection, hill: int) -> Any:
    return conn.execute(select(hills).where(hills.c.challenge_id == hill)).one()


def test_the_plan_holds_every_hill_and_nothing_else(any_conn: Connection) -> None:
    a_challenge(any_conn)
    hill, hidden = a_hill(any_conn, reward=7), a_hill(any_conn, state="hidden")
    later = a_hill(any_conn, scheduled_at=START + timedelta(hours=1))
    plan = read_plan(any_conn)
    assert [entry.challenge_id for entry in plan.hills] == [hill, hidden, later]
    assert [entry.is_open(START) for entry in plan.hills] == [True, False, False]
    assert planned(any_conn, later).is_open(START + timedelta(hours=1))
    assert planned(any_conn, hill).settings.reward == 7
    assert planned(any_conn, hill).schedule is None


def test_a_hill_whose_challenge_was_given_another_type_is_not_polled(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    any_conn.execute(update(challenges).where(challenges.c.id == hill).values(type="standard"))
    assert read_plan(any_conn).hills == ()


@pytest.mark.parametrize(
    ("config", "polled"),
    [
        ({"setup": True}, True),
        ({}, False),
        ({"setup": True, "paused": True}, False),
        ({"setup": True, "start": int(START.timestamp())}, False),
        ({"setup": True, "start": int(START.timestamp()) - 1, "end": int(START.timestamp()) + 1}, True),
        ({"setup": True, "end": int(START.timestamp())}, False),
    ],
)
def test_hills_are_polled_while_the_competition_runs(
    any_conn: Connection,
    config: dict[str, object],
    polled: bool,  # noqa: FBT001 - a table of cases
) -> None:
    write_config(any_conn, config)
    assert read_plan(any_conn).polled(START) is polled


def test_the_clock_alone_changes_the_plan_just_after_a_bound(any_conn: Connection) -> None:
    end = START + timedelta(hours=9)
    write_config(any_conn, {"start": int(START.timestamp()), "end": int(end.timestamp())})
    a_hill(any_conn, scheduled_at=START + timedelta(hours=1))
    a_hill(any_conn, scheduled_at=START + timedelta(minutes=1), state="hidden")
    plan, after = read_plan(any_conn), timedelta(milliseconds=1)
    assert plan.next_change(START) == START + after
    assert plan.next_change(START + after) == START + timedelta(hours=1) + after
    assert plan.next_change(START + timedelta(hours=2)) == end + after
    assert plan.next_change(end + after) is None


def test_the_first_tick_is_the_whole_second_after_the_hill_was_opened(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    begin(any_conn, START + timedelta(milliseconds=1), US, [hill])
    entry = planned(any_conn, hill)
    assert entry.running
    assert entry.schedule is not None
    assert (entry.schedule.first, entry.next_tick) == (START + timedelta(seconds=1), 0)


def test_after_a_pause_the_numbers_go_on_along_the_same_grid(any_conn: Connection) -> None:
    hill = a_hill(any_conn, interval=10)
    begin(any_conn, START, US, [hill])
    rest(any_conn, START + timedelta(seconds=25), US, [hill])
    assert not planned(any_conn, hill).running
    begin(any_conn, START + timedelta(seconds=61), US, [hill])
    entry = planned(any_conn, hill)
    assert entry.schedule is not None
    assert (entry.schedule.first, entry.next_tick) == (START, 7)
    assert entry.schedule.due(7) == START + timedelta(seconds=70)


def test_only_the_holder_notes_anything(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    for refused in (
        lambda: begin(any_conn, START, "other", [hill]),
        lambda: rest(any_conn, START, "other", [hill]),
        lambda: begin_reset(any_conn, START, "other", hill),
        lambda: end_reset(any_conn, START, "other", hill, None),
    ):
        with pytest.raises(NotTheHolder):
            refused()
    assert not planned(any_conn, hill).running


def test_resets_come_at_their_interval_and_when_they_are_asked_for(any_conn: Connection) -> None:
    plain = a_hill(any_conn)
    hill = a_hill(any_conn, reset_url="http://hill/reset", reset_every=30)
    asked = a_hill(any_conn, reset_url="http://hill/reset")
    assert not ask_reset(any_conn, plain)
    begin(any_conn, START, US, [plain, hill, asked])
    assert planned(any_conn, plain).next_reset() is None
    assert planned(any_conn, asked).next_reset() is None
    assert planned(any_conn, hill).next_reset() == START + timedelta(minutes=30)
    assert ask_reset(any_conn, asked)
    assert planned(any_conn, asked).next_reset() == START
    begun = START + timedelta(seconds=5)
    begin_reset(any_conn, begun, US, asked)
    entry = planned(any_conn, asked)
    assert (entry.reset_asked, entry.resetting_since, entry.last_reset) == (False, begun, begun)


def test_a_reset_that_succeeds_ends_the_reign_and_one_that_fails_does_not(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn, reset_url="http://hill/reset"), a_user(any_conn, name="ada")
    found = evidence(START, "ada")
    record_tick(any_conn, START, US, read_directory(any_conn), hill, Moment(0, START), found)
    begin_reset(any_conn, START, US, hill)
    end_reset(any_conn, START, US, hill, "the agent still names an owner")
    after = state(any_conn, hill)
    assert (after.king_user_id, after.resetting_since, after.reset_problem) == (
        ada,
        None,
        "the agent still names an owner",
    )
    begin_reset(any_conn, START, US, hill)
    end_reset(any_conn, START, US, hill, None)
    after = state(any_conn, hill)
    assert (after.king_user_id, after.reign, after.reset_problem) == (None, None, None)


def test_the_secret_of_moments_stays_until_it_was_published_and_ticks_go_on(any_conn: Connection) -> None:
    assert keys.read_commitments(any_conn) == ()
    hill = a_hill(any_conn)
    secret = read_secret(any_conn, keys.MOMENTS)
    assert secret is not None
    assert keys.read_commitments(any_conn) == (keys.Commitment(commitment(secret)),)
    begin(any_conn, START, US, [hill])
    assert read_secret(any_conn, keys.MOMENTS) == secret
    published = keys.publish_moments(any_conn)
    assert published == keys.publish_moments(any_conn) == (keys.Commitment(commitment(secret), secret),)
    begin(any_conn, START + timedelta(hours=1), US, [hill])
    fresh, old = keys.read_commitments(any_conn)
    assert old == keys.Commitment(commitment(secret), secret)
    assert fresh.secret is None
    assert fresh.commitment != old.commitment


def test_the_secret_of_tokens_is_another_one_and_never_published(any_conn: Connection) -> None:
    a_hill(any_conn)
    tokens = read_secret(any_conn, keys.TOKENS)
    keys.publish_moments(any_conn)
    assert tokens not in {shown.secret for shown in keys.read_commitments(any_conn)}
