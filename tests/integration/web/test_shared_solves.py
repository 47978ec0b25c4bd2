"""What shared links tell, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges, files
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import NotFound
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user
from ctfd_twisted.web.share_reads import Logo, SharedSolve, read_logo, read_shared_solve


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


def test_a_logo_is_a_file_that_everybody_may_have(any_conn: Connection) -> None:
    for kind in ("standard", "page", "challenge", "solution", None):
        insert_row(any_conn, files, {"type": kind, "location": f"{kind}/a.png", "sha1sum": None})
    insert_row(any_conn, files, {"type": "standard", "location": "hashed/a.png", "sha1sum": "0" * 40})
    assert read_logo(any_conn, "standard/a.png") == Logo("standard/a.png", None)
    for shown in ("page/a.png", "None/a.png"):
        assert read_logo(any_conn, shown) is not None
    assert read_logo(any_conn, "hashed/a.png") == Logo("hashed/a.png", "0" * 40)
    for hidden in ("challenge/a.png", "solution/a.png", "nowhere/a.png"):
        assert read_logo(any_conn, hidden) is None
