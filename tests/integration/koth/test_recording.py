"""Ticks in a real database: outcome, award, reign and event together, and each tick once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.leases import acquire, release
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.koth.recording import LEASE, AlreadyRecorded, Moment, NotTheHolder, Recorded, record_tick
from ctfd_twisted.koth.schedule import Schedule
from ctfd_twisted.koth.skipping import AT_ONCE, CaughtUp, catch_up, record_unasked
from ctfd_twisted.koth.store import read_directory, read_settings_of, read_token, write_settings
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing.builders import a_team, a_user, an_admin
from ctfd_twisted.testing.hills import a_hill, evidence, hill_settings
from ctfd_twisted.webhooks.tables import events

START = datetime(2026, 3, 14, 12, tzinfo=UTC)
US = "this node"


def at(tick: int) -> datetime:
    return START + timedelta(minutes=tick)


def record(conn: Connection, hill: int, tick: int, *owners: str, **facts: Any) -> Recorded | None:
    now = at(tick) + timedelta(seconds=1)
    acquire(conn, now, LEASE, US, 30)
    directory = read_directory(conn)
    return record_tick(conn, now, US, directory, hill, Moment(tick, at(tick)), evidence(at(tick), *owners, **facts))


def state(conn: Connection, hill: int) -> Any:
    return conn.execute(select(hills).where(hills.c.challenge_id == hill)).one()


def row(conn: Connection, hill: int, tick: int) -> Any:
    return conn.execute(select(ticks).where(ticks.c.challenge_id == hill, ticks.c.tick == tick)).one()


def outcomes(conn: Connection, hill: int) -> list[tuple[int, str]]:
    found = conn.execute(
        select(ticks.c.tick, ticks.c.outcome).where(ticks.c.challenge_id == hill).order_by(ticks.c.tick)
    )
    return [(tick, outcome) for tick, outcome in found]


def test_a_held_tick_gives_the_award_that_the_contract_describes(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn, name="The Hill", category="crown"), a_user(any_conn, name="ada")
    assert record(any_conn, hill, 3, "ada") == Recorded("held", 10, 0)
    award = any_conn.execute(select(awards)).one()
    assert (award.value, award.type, award.category, award.name) == (10, "koth", "crown", "The Hill")
    assert (award.user_id, award.team_id, award.date) == (ada, None, at(3))
    tick = row(any_conn, hill, 3)
    assert (tick.outcome, tick.user_id, tick.award_id, tick.points, tick.reign) == ("held", ada, award.id, 10, 3)
    assert (tick.due, tick.latency_ms, tick.status, tick.identifier) == (at(3), 12, 200, "ada")


def test_the_topics_tell_of_standings_and_kings(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    points = {"points", f"points:user:{a_user(any_conn, name='ada')}"}
    taken_topics(any_conn)
    record(any_conn, hill, 0, "ada")
    assert taken_topics(any_conn) >= {*points, "hills", "ticks"}
    record(any_conn, hill, 1, "ada")
    assert taken_topics(any_conn) == {*points, "ticks"}
    record(any_conn, hill, 2, failure="unreachable")
    assert taken_topics(any_conn) == {"ticks"}


def test_each_change_of_king_is_an_event_in_the_same_transaction(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    ada, bob = a_user(any_conn, name="ada"), a_user(any_conn, name="bob")
    for tick, owner in enumerate(["ada", "ada", "bob", "", "bob"]):
        record(any_conn, hill, tick, owner)
    stored = any_conn.execute(select(events.c.event, events.c.body).order_by(events.c.seq)).all()
    bodies = [json.loads(body) for name, body in stored if name == "koth.king_changed"]

    def king(body: Any, key: str) -> int | None:
        return None if body[key] is None else int(body[key]["id"])

    changes = [(king(body, "previous"), king(body, "king"), body["since"]) for body in bodies]
    assert changes == [
        (None, ada, "2026-03-14T12:00:00.000000+00:00"),
        (ada, bob, "2026-03-14T12:02:00.000000+00:00"),
        (bob, None, "2026-03-14T12:03:00.000000+00:00"),
        (None, bob, "2026-03-14T12:04:00.000000+00:00"),
    ]


def test_a_tick_is_recorded_once_and_its_award_given_once(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    a_user(any_conn, name="ada")
    record(any_conn, hill, 0, "ada")
    with pytest.raises(AlreadyRecorded), any_conn.begin_nested():
        record(any_conn, hill, 0, "ada")
    assert len(any_conn.execute(select(awards)).all()) == 1
    assert state(any_conn, hill).reign_ticks == 1


def test_only_the_holder_of_the_lease_records(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    acquire(any_conn, START, LEASE, "another node", 30)
    facts = read_directory(any_conn), hill, Moment(0, START), evidence(START, "ada")
    with pytest.raises(NotTheHolder):
        record_tick(any_conn, START, US, *facts)
    release(any_conn, LEASE, "another node")
    with pytest.raises(NotTheHolder):
        record_tick(any_conn, START, US, *facts)
    with pytest.raises(NotTheHolder):
        record_unasked(any_conn, START, US, hill, [Moment(0, START)], "missed", "")
    assert outcomes(any_conn, hill) == []


def test_a_hill_that_was_deleted_meanwhile_is_no_error(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    any_conn.execute(delete(hills).where(hills.c.challenge_id == hill))
    assert record(any_conn, hill, 0, "ada") is None


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"banned": True}, "banned"),
        ({"hidden": True}, "hidden"),
        ({"hidden": None}, "hidden"),
        ({"type": "admin"}, "administrator"),
    ],
)
def test_who_cannot_be_king_gets_nothing(any_conn: Connection, columns: dict[str, Any], says: str) -> None:
    hill = a_hill(any_conn)
    a_user(any_conn, name="eve", **columns)
    assert record(any_conn, hill, 0, "eve") == Recorded("ineligible", 0, 0)
    assert says in row(any_conn, hill, 0).detail
    assert any_conn.execute(select(awards)).all() == []
    assert state(any_conn, hill).king_user_id is None


def test_where_teams_play_the_users_team_is_paid_and_the_user_named(any_conn: Connection) -> None:
    write_config(any_conn, {"user_mode": "teams"})
    hill, red = a_hill(any_conn), a_team(any_conn, name="Red")
    ada = a_user(any_conn, name="ada", team_id=red)
    record(any_conn, hill, 0, "ada")
    record(any_conn, hill, 1, "Red")
    assert [(award.user_id, award.team_id) for award in any_conn.execute(select(awards).order_by(awards.c.id))] == [
        (ada, red),
        (None, red),
    ]
    assert state(any_conn, hill).reign_ticks == 2, "the team went on reigning"


@pytest.mark.parametrize(("team", "says"), [({"banned": True}, "team is banned"), ({"hidden": True}, "team is hidden")])
def test_a_team_that_is_not_listed_cannot_be_king(any_conn: Connection, team: dict[str, Any], says: str) -> None:
    write_config(any_conn, {"user_mode": "teams"})
    hill, red = a_hill(any_conn), a_team(any_conn, name="Red", **team)
    a_user(any_conn, name="ada", team_id=red)
    a_user(any_conn, name="loner")
    for tick, owner in enumerate(["ada", "Red", "loner"]):
        assert record(any_conn, hill, tick, owner) == Recorded("ineligible", 0, 0)
    assert says in row(any_conn, hill, 0).detail
    assert says in row(any_conn, hill, 1).detail
    assert "no team" in row(any_conn, hill, 2).detail


def test_the_hill_token_that_a_player_is_shown_makes_them_king(any_conn: Connection) -> None:
    from ctfd_twisted.accounts.identity import Player  # noqa: PLC0415 - only here

    hill, ada, red = a_hill(any_conn), a_user(any_conn), a_team(any_conn)
    any_conn.execute(update(users).where(users.c.id == ada).values(team_id=red))
    token = read_token(any_conn, Player(ada, "ada", team_id=red), teams_mode=False)
    assert token is not None
    assert record(any_conn, hill, 0, token) == Recorded("held", 10, 0)
    write_config(any_conn, {"user_mode": "teams"})
    team_token = read_token(any_conn, Player(ada, "ada", team_id=red), teams_mode=True)
    assert team_token not in {None, token}
    assert record(any_conn, hill, 1, str(team_token)) == Recorded("held", 10, 0)
    assert read_token(any_conn, Player(ada, "ada"), teams_mode=True) is None


def test_the_setting_says_which_identifiers_count(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn), a_user(any_conn, name="ada", email="ada@example.org")
    write_config(any_conn, {"koth_identifiers": "email"})
    assert record(any_conn, hill, 0, "ada") == Recorded("unknown", 0, 0)
    assert record(any_conn, hill, 1, str(ada)) == Recorded("unknown", 0, 0)
    assert record(any_conn, hill, 2, "ada@example.org") == Recorded("held", 10, 0)


def test_failures_in_a_row_are_counted_and_a_hill_keeps_its_king(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn), a_user(any_conn, name="ada")
    record(any_conn, hill, 0, "ada")
    for tick in (1, 2, 3):
        record(any_conn, hill, tick, failure="unreachable", detail="refused")
    assert (state(any_conn, hill).failures, state(any_conn, hill).king_user_id) == (3, ada)
    assert record(any_conn, hill, 4, "ada") == Recorded("held", 10, 0)
    assert state(any_conn, hill).reign_ticks == 2


def test_ticks_that_were_overrun_leave_the_one_under_way_owed(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn), a_user(any_conn, name="ada")
    acquire(any_conn, at(2), LEASE, US, 30)
    record_unasked(any_conn, at(2), US, hill, [Moment(1, at(1)), Moment(2, at(2))], "overrun", "")
    assert state(any_conn, hill).next_tick == 0
    record(any_conn, hill, 0, "ada")
    assert outcomes(any_conn, hill) == [(0, "held"), (1, "overrun"), (2, "overrun")]
    assert (state(any_conn, hill).next_tick, state(any_conn, hill).king_user_id) == (3, ada)


def test_ticks_that_were_missed_are_recorded_in_pieces_and_never_twice(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    a_user(any_conn, name="ada")
    record(any_conn, hill, 0, "ada")
    acquire(any_conn, at(3), LEASE, US, 30)
    record_unasked(any_conn, at(3), US, hill, [Moment(3, at(3))], "overrun", "")
    any_conn.execute(update(hills).where(hills.c.challenge_id == hill).values(first_tick=START))
    late = at(AT_ONCE + 10)
    acquire(any_conn, late, LEASE, US, 30)
    pieces = [catch_up(any_conn, late, US, hill, late) for _ in range(3)]
    assert pieces == [
        CaughtUp(AT_ONCE + 1, done=False, missed=AT_ONCE - 1),  # one of them was recorded as overrun
        CaughtUp(AT_ONCE + 11, done=True, missed=10),
        CaughtUp(AT_ONCE + 11, done=True, missed=0),
    ]
    recorded = outcomes(any_conn, hill)
    assert [tick for tick, _ in recorded] == list(range(AT_ONCE + 11))
    assert [outcome for _, outcome in recorded[:5]] == ["held", "missed", "missed", "overrun", "missed"]
    assert state(any_conn, hill).next_tick == AT_ONCE + 11
    assert len(any_conn.execute(select(awards)).all()) == 1


def test_an_account_that_is_deleted_leaves_the_evidence(any_conn: Connection) -> None:
    hill, ada = a_hill(any_conn), a_user(any_conn, name="ada")
    record(any_conn, hill, 0, "ada")
    any_conn.execute(delete(users).where(users.c.id == ada))
    tick = row(any_conn, hill, 0)
    assert (tick.outcome, tick.identifier, tick.user_id, tick.award_id) == ("held", "ada", None, None)
    assert record(any_conn, hill, 1, "ada") == Recorded("unknown", 0, 0)


def test_what_an_agent_says_is_stored_whatever_it_is(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    record(any_conn, hill, 0, "ÿ\N{REPLACEMENT CHARACTER}🏰" + "a" * 5000, detail="d")
    assert len(row(any_conn, hill, 0).identifier) == 256
    assert row(any_conn, hill, 0).outcome == "unknown"


def test_a_change_of_the_interval_goes_on_with_the_numbers(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    record(any_conn, hill, 99, "x")
    any_conn.execute(update(hills).where(hills.c.challenge_id == hill).values(first_tick=START))
    write_settings(any_conn, at(99) + timedelta(seconds=5), hill, hill_settings(interval=3600))
    now = state(any_conn, hill)
    assert Schedule(hill, now.first_tick, now.interval, 0, "").due(100) == at(100)
    assert read_settings_of(any_conn, [hill])[hill].interval == 3600


def test_an_admin_who_claims_a_hill_is_ineligible(any_conn: Connection) -> None:
    hill = a_hill(any_conn)
    an_admin(any_conn, name="root")
    assert record(any_conn, hill, 0, "root") == Recorded("ineligible", 0, 0)
