"""CTFtime's feed out of both databases."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.ctftime import read_feed
from ctfd_twisted.testing.builders import LONG_AGO, a_challenge, a_solve, a_team, a_user, an_award
from ctfd_twisted.testing.hills import a_hill

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("frozen", [False, True])
def test_solves_and_ticks_of_teams_are_told_up_to_the_freeze(any_conn: Connection, *, frozen: bool) -> None:
    freeze = int((LONG_AGO + MINUTE).timestamp()) if frozen else None
    write_config(any_conn, {"setup": True, "user_mode": "teams", "freeze": freeze})
    team = a_team(any_conn, name="Otters")
    user = a_user(any_conn, team_id=team)
    dynamic = {"function": "linear", "initial": 500, "minimum": 100, "decay": 100}
    warmup, hill = a_challenge(any_conn, name="Warmup", value=300, dynamic=dynamic), a_hill(any_conn, name="Hill")
    a_solve(any_conn, warmup, user, team_id=team)
    a_solve(any_conn, warmup, a_user(any_conn), team_id=a_team(any_conn), date=LONG_AGO + MINUTE)
    for tick in range(3):
        due = LONG_AGO + tick * MINUTE
        held: dict[str, Any] = {"tick": tick, "due": due, "outcome": "held", "points": 10, "challenge_id": hill}
        award = an_award(any_conn, user, 10, team_id=team, date=due)
        insert_row(any_conn, ticks, {**held, "team_id": team, "award_id": award})
    feed = json.loads(read_feed(any_conn, LONG_AGO + timedelta(days=1), unsolved=False).body)
    started = int(LONG_AGO.timestamp())
    paid, last, value = (10, started, 500) if frozen else (30, started + 120, 300)
    assert feed["tasks"] == ["Hill", "Warmup"]
    assert len(feed["standings"]) == (1 if frozen else 2)
    otters = next(line for line in feed["standings"] if line["team"] == "Otters")
    assert otters["taskStats"] == {
        "Hill": {"points": paid, "time": last},
        "Warmup": {"points": value, "time": started},
    }
    assert (otters["score"], otters["lastAccept"]) == (paid + value, last)
