"""Standings and values on both databases."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.store import recompute_values, standings
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user, an_award

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FROZEN = Competition({"freeze": str(int(NOW.timestamp()))})


def board(conn: Connection, *, everyone: bool) -> list[tuple[int, int]]:
    return [(row.account_id, row.score) for row in standings(conn, FROZEN, everyone=everyone)]


def test_both_databases_agree(any_conn: Connection) -> None:
    first, second = a_user(any_conn), a_user(any_conn)
    challenge = a_challenge(any_conn, dynamic={})
    a_solve(any_conn, challenge, first, date=NOW - SECOND)
    a_solve(any_conn, challenge, second, date=NOW)
    an_award(any_conn, second, 3, date=NOW - SECOND)
    recompute_values(any_conn)
    assert board(any_conn, everyone=False) == [(first, 500), (second, 3)]
    assert board(any_conn, everyone=True) == [(second, 499), (first, 496)]
