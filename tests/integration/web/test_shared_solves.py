"""What shared links tell, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import NotFound
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user
from ctfd_twisted.web.share_reads import SharedSolve, read_shared_solve


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_a_solve_is_told_while_the_public_may_know_of_it(any_conn: Connection, now: datetime, mode: str) -> None:
    conn, frozen = any_conn, Competition({"user_mode": mode, "freeze": str(int(now.timestamp()))})
    team = a_team(conn, name="Otters") if mode == "teams" else None
    ann, number = a_user(conn, name="ann", team_id=team), a_challenge(conn, name="Warm-up")
    conn.execute(update(challenges).values(requirements={"prerequisites": [a_challenge(conn)]}))
    with pytest.raises(NotFound):
        read_shared_solve(conn, now, frozen, ann, number)
    conn.execute(update(challenges).values(requirements=None))
    a_solve(conn, number, ann, team_id=team, date=now - timedelta(minutes=1))
    assert read_shared_solve(conn, now, frozen, ann, number) == SharedSolve("ann", "Otters" if team else "", "Warm-up")
    conn.execute(update(users).values(hidden=None))
    with pytest.raises(NotFound):
        read_shared_solve(conn, now, frozen, ann, number)
