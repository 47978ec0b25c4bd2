"""Standings, scores and places."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.http.shared import Press
from ctfd_twisted.scoring.live_board import LiveBoard
from ctfd_twisted.scoring.scoreboard import Top
from ctfd_twisted.scoring.store import account_score, recompute_values, standings, team_score, user_score
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user, an_award

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SECOND = timedelta(seconds=1)
USERS = Competition({})
TEAMS = Competition({"user_mode": "teams"})
FROZEN = Competition({"freeze": str(int(NOW.timestamp()))})


def board(conn: Connection, competition: Competition = USERS, **how: Any) -> list[tuple[int, int]]:
    """Account ids and scores, first place first."""
    rows = standings(conn, competition, **how)
    assert [row.place for row in rows] == list(range(1, len(rows) + 1))
    return [(row.account_id, row.score) for row in rows]


def test_solves_and_awards_add_up(conn: Connection) -> None:
    first, second, third = (a_user(conn) for _ in range(3))
    a_solve(conn, a_challenge(conn, value=100), first)
    a_solve(conn, a_challenge(conn, value=30), second)
    an_award(conn, second, 100)
    an_award(conn, first, -10)
    assert board(conn) == [(second, 130), (first, 90)]
    assert user_score(conn, USERS, second, frozen=True) == 130
    assert user_score(conn, USERS, third, frozen=True) == 0
    assert {row.account_id: row.place for row in standings(conn, USERS)} == {second: 1, first: 2}


def test_rows_of_zero_value_neither_list_nor_move_anybody(conn: Connection) -> None:
    early, late, idle = (a_user(conn) for _ in range(3))
    challenge, nothing = a_challenge(conn, value=50), a_challenge(conn, value=0)
    a_solve(conn, challenge, early, date=NOW)
    a_solve(conn, challenge, late, date=NOW + SECOND)
    for user in (early, idle):
        a_solve(conn, nothing, user, date=NOW + 9 * SECOND)
        an_award(conn, user, 0, date=NOW + 9 * SECOND)
    assert board(conn) == [(early, 50), (late, 50)]


def test_totals_of_nothing_and_below_are_listed(conn: Connection) -> None:
    debtor, even = a_user(conn), a_user(conn)
    an_award(conn, debtor, -5)
    an_award(conn, even, 5)
    an_award(conn, even, -5)
    assert board(conn) == [(even, 0), (debtor, -5)]


def test_a_paid_hint_moves_the_time_of_a_total(conn: Connection) -> None:
    first, second = a_user(conn), a_user(conn)
    an_award(conn, first, 60, date=NOW)
    an_award(conn, first, -10, date=NOW + 2 * SECOND)
    an_award(conn, second, 50, date=NOW + SECOND)
    assert board(conn) == [(second, 50), (first, 50)]


@pytest.mark.parametrize("columns", [{"hidden": True}, {"banned": True}, {"hidden": None}])
def test_the_public_does_not_see_the_hidden_and_the_banned(conn: Connection, columns: dict[str, Any]) -> None:
    secret = a_user(conn, **columns)
    an_award(conn, secret)
    assert board(conn) == []
    assert board(conn, everyone=True) == [(secret, 50)]


def test_the_freeze_holds_for_the_public(conn: Connection) -> None:
    before, after = a_user(conn), a_user(conn)
    challenge = a_challenge(conn, dynamic={"function": "linear"}, value=500)
    a_solve(conn, challenge, before, date=NOW - SECOND)
    a_solve(conn, challenge, after, date=NOW)
    an_award(conn, before, 7, date=NOW)
    recompute_values(conn)
    assert board(conn, FROZEN) == [(before, 500)]
    assert board(conn, FROZEN, everyone=True) == [(before, 497), (after, 490)]
    assert board(conn) == [(before, 497), (after, 490)]
    assert user_score(conn, FROZEN, before, frozen=True) == 500
    assert user_score(conn, FROZEN, before, frozen=False) == 497


def test_a_bracket_ranks_apart(conn: Connection) -> None:
    bracket = insert_row(conn, brackets, {"name": "students", "type": "users"})
    student, other = a_user(conn, bracket_id=bracket), a_user(conn)
    an_award(conn, student, 10)
    an_award(conn, other, 20)
    whole = LiveBoard(conn, "", Press()).board
    (row,) = Top(whole, bracket, "").standings()
    assert (row.account_id, row.score, row.place) == (student, 10, 1)
    assert standings(conn, USERS)[1].bracket_name == "students"
    assert Top(whole, bracket + 1, "").standings() == []


def test_teams_score_by_the_team_that_is_stored(conn: Connection) -> None:
    team, other = a_team(conn), a_team(conn)
    member, secret = a_user(conn, team_id=team), a_user(conn, team_id=team, hidden=True)
    alone = a_user(conn)
    a_solve(conn, a_challenge(conn, value=100), member, team_id=team)
    a_solve(conn, a_challenge(conn, value=10), secret, team_id=team)
    an_award(conn, member, 5, team_id=other)
    a_solve(conn, a_challenge(conn, value=1), alone)
    assert board(conn, TEAMS) == [(team, 110), (other, 5)]
    assert board(conn, TEAMS, people=True) == [(member, 105), (alone, 1)]
    assert team_score(conn, TEAMS, team, frozen=False) == 115
    assert account_score(conn, TEAMS, team, frozen=False) == 115
    assert account_score(conn, USERS, member, frozen=False) == 105


def test_what_a_team_was_given_without_naming_a_member_is_the_teams(conn: Connection) -> None:
    team = a_team(conn)
    member = a_user(conn, team_id=team)
    an_award(conn, member, 5, team_id=team)
    an_award(conn, None, 7, team_id=team)
    assert board(conn, TEAMS) == [(team, 12)]
    assert team_score(conn, TEAMS, team, frozen=False) == 12
    assert team_score(conn, TEAMS, team, frozen=True) == 12


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-2, 3), st.integers(0, 3)),
    max_size=12,
)


@given(rows=ROWS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_board_is_that_of_the_contract(conn: Connection, rows: list[tuple[int, int, int]]) -> None:
    """Against the definition, written out naively."""
    with conn.begin_nested() as attempt:
        players = [a_user(conn) for _ in range(4)]
        kept = [
            (players[who], value, seconds, an_award(conn, players[who], value, date=NOW + seconds * SECOND))
            for who, value, seconds in rows
        ]
        counted = [row for row in kept if row[1] != 0]
        expected = sorted(
            {row[0] for row in counted},
            key=lambda who: (
                -sum(row[1] for row in counted if row[0] == who),
                max(row[2] for row in counted if row[0] == who),
                max(row[3] for row in counted if row[0] == who),
            ),
        )
        assert [account for account, _ in board(conn)] == expected
        attempt.rollback()
