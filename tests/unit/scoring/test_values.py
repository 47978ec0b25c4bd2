"""Values after any history are what the counted solves say."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import Connection, select, update

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.scoring.rules import linear, logarithmic
from ctfd_twisted.scoring.values import counted_solves, frozen_values, present_kind, recompute_values
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user
from tests.unit.scoring.histories import CHANGES, NOW, Change, Event


def values(conn: Connection) -> dict[int, int | None]:
    return {row.id: row.value for row in conn.execute(select(challenges.c.id, challenges.c.value))}


def test_solves_of_listed_accounts_count(conn: Connection) -> None:
    challenge = a_challenge(conn, dynamic={})
    for columns in ({}, {}, {"hidden": True}, {"banned": True}, {"hidden": None}, {"hidden": True, "banned": True}):
        a_solve(conn, challenge, a_user(conn, **columns))
    assert counted_solves(conn, present_kind(conn)) == {challenge: 2}
    assert recompute_values(conn, [challenge]) == {challenge: logarithmic(500, 100, 10, 2)}
    assert values(conn) == {challenge: logarithmic(500, 100, 10, 2)}


def test_where_teams_play_the_team_must_be_listed(conn: Connection) -> None:
    write_config(conn, {"user_mode": "teams"})
    challenge = a_challenge(conn, function="linear", initial=50, minimum=1, decay=7)
    a_solve(conn, challenge, a_user(conn, hidden=True), team_id=a_team(conn))
    a_solve(conn, challenge, a_user(conn, banned=True), team_id=a_team(conn))
    a_solve(conn, challenge, a_user(conn), team_id=a_team(conn, banned=True))
    recompute_values(conn)
    assert values(conn) == {challenge: linear(50, 1, 7, 2)}


def test_what_does_not_follow_the_solves_stays(conn: Connection) -> None:
    ids = [
        a_challenge(conn, value=7),
        a_challenge(conn, value=7, function=None, initial=1, minimum=1, decay=1),
        a_challenge(conn, value=7, function="linear"),
        a_challenge(conn, value=7, type="unknown"),
        a_challenge(conn, value=None),
        a_challenge(conn, value=7, type="dynamic"),
    ]
    before = values(conn)
    taken_topics(conn)
    assert recompute_values(conn) == {}
    assert values(conn) == before
    assert set(before) == set(ids)
    assert taken_topics(conn) == {"challenges", "standings"}


def test_the_public_sees_the_value_of_the_freeze(conn: Connection) -> None:
    still, moved = a_challenge(conn), a_challenge(conn, dynamic={})
    for challenge in (still, moved):
        a_solve(conn, challenge, a_user(conn), date=NOW - timedelta(seconds=1))
        for seconds in range(3):
            a_solve(conn, challenge, a_user(conn), date=NOW + timedelta(seconds=seconds))
    recompute_values(conn)
    assert values(conn)[moved] == logarithmic(500, 100, 10, 4)
    assert frozen_values(conn, Competition({})) == {}
    assert frozen_values(conn, Competition({"freeze": str(int(NOW.timestamp()))})) == {moved: 500}
    assert frozen_values(conn, Competition({"freeze": str(int(NOW.timestamp()) + 60)})) == {}


@pytest.mark.parametrize("mode", ["users", "teams"])
@given(changes=CHANGES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_step_by_step_is_what_counting_from_nothing_gives(conn: Connection, mode: str, changes: list[Change]) -> None:
    """After solves, bans, unbans, hiding, deletions, edits and new grades in any order."""
    with conn.begin_nested() as history:
        event = Event(conn, mode)
        for change in changes:
            event.change(conn, change)
        step_by_step = values(conn)
        conn.execute(update(challenges).where(challenges.c.id != event.numbers[2]).values(value=-1))
        recompute_values(conn)
        assert values(conn) == step_by_step
        history.rollback()
