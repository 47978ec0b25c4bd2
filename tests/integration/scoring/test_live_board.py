"""A board that grows with solves and awards is the board that is made from nothing, on both kinds of database."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.http.shared import Press
from ctfd_twisted.scoring.awards_store import AwardFields, create_award
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.live_board import LiveBoard
from ctfd_twisted.scoring.news import tell_points, tell_solved
from ctfd_twisted.scoring.values import following, recount
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user, an_award


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_it_grows_alike(engines: Engines, now: datetime, mode: str) -> None:
    db = Database(engines, Bus(), write=start_inline, read=start_inline)

    def begin(conn: Connection) -> tuple[list[int], int]:
        write_config(conn, {"user_mode": mode, "freeze": int((now + timedelta(minutes=5)).timestamp())})
        team = (lambda: {"team_id": a_team(conn)}) if mode == "teams" else dict
        challenge = a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 3})
        a_flag(conn, challenge)
        return [a_user(conn, **team()) for _ in range(6)], challenge

    people, challenge = result_of(db.run(begin))
    board = PublicBoard(db, "")
    result_of(board.get())
    for minute, person in enumerate(people, 2):  # the last ones solve it after the freeze
        moment = now + timedelta(minutes=minute)
        new = NewAttempt(moment, person, False, challenge, "flag{right}", "::1")
        assert result_of(db.run(attempt, new)).status == "correct"
        result_of(db.run(create_award, moment, AwardFields(user_id=person, name="more", value=minute)))
        grown, made = result_of(board.get()), result_of(db.read(LiveBoard, "", Press())).board
        assert (grown.standings, grown.places, grown.people) == (made.standings, made.places, made.people)
        assert grown.answer.body == made.answer.body
    assert len(grown.standings) == 3


def test_it_grows_with_much_at_once_and_with_what_comes_late(engines: Engines, now: datetime) -> None:
    """Ids are given before commits are, so that a row may come whose id is smaller than that of one known already."""
    db = Database(engines, Bus(), write=start_inline, read=start_inline)

    def begin(conn: Connection) -> tuple[list[tuple[int, int]], list[int]]:
        write_config(conn, {"user_mode": "teams"})
        numbers = [a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 9}), a_challenge(conn)]
        players = []
        for _ in range(4):
            team = a_team(conn)
            players.append((a_user(conn, team_id=team), team))
        a_solve(conn, numbers[1], players[0][0], team_id=players[0][1], id=100, date=now)
        return players, numbers

    def solve(conn: Connection, who: int, which: int, solve_id: int) -> None:
        user, team = players[who]
        a_solve(conn, numbers[which], user, team_id=team, id=solve_id, date=now)
        an_award(conn, user, 3, team_id=team, id=solve_id, date=now)
        kind = following(conn, {numbers[which]: "dynamic"} if which == 0 else {})
        recount(conn, kind, teams_mode=True)
        tell_points(conn, user, team)
        tell_solved(conn, numbers[which])

    players, numbers = result_of(db.run(begin))
    board = PublicBoard(db, "")
    result_of(board.get())
    for commits in ([(0, 0, 110)], [(1, 0, 111), (2, 0, 112), (3, 1, 113)], [(1, 1, 105)], [(3, 0, 120), (2, 1, 119)]):
        for commit in commits:
            result_of(db.run(solve, *commit))
        grown, made = result_of(board.get()), result_of(db.read(LiveBoard, "", Press())).board
        assert (grown.standings, grown.places, grown.people) == (made.standings, made.places, made.people)
        assert (grown.answer.body, grown.answer.etag) == (made.answer.body, made.answer.etag)
