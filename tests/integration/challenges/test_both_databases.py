"""Every transaction about challenges, on SQLite and on PostgreSQL."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, select, update

from ctfd_twisted.accounts.tables import audience_members, audiences, users
from ctfd_twisted.challenges import flags_store, parts, store
from ctfd_twisted.challenges.attempts import preview
from ctfd_twisted.challenges.catalogue import Ratings, read_catalogue
from ctfd_twisted.challenges.own import Own, Rating, Who, read_own
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.challenges.solvers import Solvers, read_solvers
from ctfd_twisted.challenges.tables import (
    challenge_ends,
    challenge_topics,
    hints,
    module_audience_access,
    modules,
    ratings,
    tags,
    topics,
)
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Forbidden, Malformed, NotFound
from ctfd_twisted.http.shared import Press
from ctfd_twisted.scoring import awards_store
from ctfd_twisted.scoring.live_board import LiveBoard
from ctfd_twisted.scoring.scoreboard import Top, read_top, top_answer
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user, an_award


def answered(conn: Connection, now: datetime, user_id: int, challenge_id: int, text: str = "flag{right}") -> str:
    new = NewAttempt(now, user_id, is_admin=False, challenge_id=challenge_id, submission=text, address="2001:db8::1")
    return attempt(conn, new).status


def test_a_challenge_ends_and_its_end_goes_with_it(any_conn: Connection, now: datetime) -> None:
    conn, user = any_conn, a_user(any_conn)
    end = (now + timedelta(hours=1)).replace(tzinfo=None).isoformat()
    number = store.create_challenge(conn, now, {"name": "Daily", "ends_at": end})["id"]
    a_flag(conn, number)
    assert read_catalogue(conn).entries[number].columns["ends_at"] == now + timedelta(hours=1)
    assert answered(conn, now, user, number, "wrong") == "incorrect"
    with pytest.raises(Forbidden, match="Daily has ended"):
        answered(conn, now + timedelta(hours=1), user, number)
    assert store.update_challenge(conn, now, number, {"ends_at": None})["ends_at"] is None
    assert answered(conn, now + timedelta(hours=1), user, number) == "correct"
    store.update_challenge(conn, now, number, {"ends_at": end})
    store.delete_challenge(conn, number)
    assert conn.execute(select(challenge_ends)).all() == []


def test_a_challenge_lives_and_goes(any_conn: Connection, now: datetime) -> None:
    conn = any_conn
    made = store.create_challenge(
        conn, now, {"id": 40, "type": "dynamic", "initial": 500, "scheduled_at": "2030-01-01"}
    )
    assert (made["id"], made["value"], made["scheduled_at"]) == (40, 500, "2030-01-01T00:00:00")
    with pytest.raises(Malformed):
        store.create_challenge(conn, now, {"id": 40})
    with pytest.raises(Malformed):
        store.update_challenge(conn, now, 40, {"module_id": 999})
    second = store.create_challenge(conn, now, {"next_id": 40, "requirements": {"prerequisites": [40]}})["id"]
    assert second == 41
    changed = store.update_challenge(conn, now, 40, {"function": "linear", "scheduled_at": None, "name": "x"})
    assert (changed["function"], changed["scheduled_at"], changed["name"]) == ("linear", None, "x")
    flag = flags_store.create_flag(conn, flags_store.FlagFields(challenge_id=40, type="static", content="x"))
    assert flags_store.list_flags(conn, flags_store.FlagFilter(q="x", field="content")) == [flag]
    assert parts.list_flags(conn, 40) == [flag]
    insert_row(conn, tags, {"challenge_id": 40, "value": "tag"})
    insert_row(conn, hints, {"challenge_id": 40, "content": "hint", "cost": 3})
    insert_row(conn, challenge_topics, {"challenge_id": 40, "topic_id": insert_row(conn, topics, {"value": "topic"})})
    assert [len(listed(conn, 40)) for listed in (parts.list_tags, parts.list_hints, parts.list_topics)] == [1, 1, 1]
    assert preview(conn, 40, "x").status == "correct"
    assert store.read_requirements(conn, second) == {"prerequisites": [40]}
    assert store.delete_challenge(conn, 40) == ()
    assert store.read_challenge(conn, second)["next_id"] is None
    with pytest.raises(NotFound):
        flags_store.read_flag(conn, flag["id"])


def test_an_id_that_is_sent_gives_no_other_away_again(any_conn: Connection, now: datetime) -> None:
    first, second = (store.create_challenge(any_conn, now, {})["id"] for _ in range(2))
    store.delete_challenge(any_conn, first)
    assert store.create_challenge(any_conn, now, {"id": first})["id"] == first
    next_one = store.create_challenge(any_conn, now, {})["id"]
    assert next_one > second
    if any_conn.dialect.name == "postgresql":  # SQLite knows no ids but those that are there
        store.delete_challenge(any_conn, next_one)
        store.delete_challenge(any_conn, first)
        store.create_challenge(any_conn, now, {"id": first})
        assert store.create_challenge(any_conn, now, {})["id"] > next_one


def test_a_trial_of_the_flags_only_reads(engines: Engines) -> None:
    db = Database(engines, Bus(), write=start_inline, read=start_inline)

    def prepare(conn: Connection) -> int:
        number = a_challenge(conn, state="hidden")
        a_flag(conn, number)
        return number

    assert result_of(db.read(preview, result_of(db.run(prepare)), "flag{right}")).status == "correct"


def test_everything_about_a_player(any_conn: Connection, now: datetime) -> None:
    conn, user = any_conn, a_user(any_conn)
    module = insert_row(conn, modules, {"name": "module"})
    audience = insert_row(conn, audiences, {"name": "audience", "type": "standard"})
    insert_row(conn, module_audience_access, {"module_id": module, "audience_id": audience})
    first = a_challenge(conn, logic="all", max_attempts=2)
    second = a_challenge(conn, module_id=module, requirements={"prerequisites": [first]})
    for challenge, text in ((first, "one"), (first, "two"), (second, "flag{right}")):
        a_flag(conn, challenge, text)
    with pytest.raises(NotFound):
        answered(conn, now, user, second)
    insert_row(conn, audience_members, {"audience_id": audience, "user_id": user})
    with pytest.raises(Forbidden):
        answered(conn, now, user, second)
    assert [answered(conn, now, user, first, text) for text in ("one", "no", "two")] == [
        "partial", "incorrect", "correct",
    ]  # fmt: skip
    assert answered(conn, now, user, second) == "correct"
    insert_row(conn, unlocks, {"user_id": user, "target": 7, "type": "hints"})
    row = {"user_id": user, "challenge_id": first, "value": -1, "review": "r", "date": now}
    insert_row(conn, ratings, row)

    own = read_own(conn, Who(user, None))
    assert (set(own.solved), set(own.hints)) == ({first, second}, {7})
    assert own.ratings == {(user, first): Rating(-1, "r")}
    assert (own.attempts_at(first, now), own.attempts_at(second, now)) == (3, 1)
    assert read_own(conn, Who(user, None, teams=True)) == Own(ratings=own.ratings)
    team = a_team(conn)
    conn.execute(update(users).where(users.c.id == user).values(team_id=team))
    assert read_own(conn, Who(None, team, teams=True)) == Own(ratings=own.ratings)
    own = read_own(conn, Who(user, None, window=60))
    assert [own.attempts_at(first, now + timedelta(seconds=seconds)) for seconds in (0, 59, 60)] == [3, 3, 0]
    catalogue = read_catalogue(conn)
    assert catalogue.modules_of(user) == {module}
    assert catalogue.entries[first].live.ratings == Ratings(0, 1, 1)
    assert catalogue.entries[first].live.solves == 1


def test_the_board_and_the_freeze(any_conn: Connection, now: datetime) -> None:
    conn = any_conn
    write_config(conn, {"user_mode": "teams", "freeze": int(now.timestamp())})
    team, late = a_team(conn, name="team"), a_team(conn, name="late")
    ann, ben = a_user(conn, name="ann", team_id=team), a_user(conn, name="ben", team_id=late)
    number = a_challenge(conn, dynamic={"function": "linear", "decay": 100}, value=500)
    a_flag(conn, number)
    a_solve(conn, number, ann, team_id=team, date=now - timedelta(minutes=1))
    assert answered(conn, now, ben, number) == "correct"
    an_award(conn, ann, -20, team_id=team, date=now - timedelta(seconds=90))

    entry = read_catalogue(conn).entries[number]
    assert (entry.public.value, entry.public.solves, entry.live.value, entry.live.solves) == (500, 1, 400, 2)
    board = LiveBoard(conn, "", Press()).board
    (line,) = decoded(board.answer.body)
    assert (line["name"], line["score"], [member["score"] for member in line["members"]]) == ("team", 480, [480])
    (first,) = decoded(top_answer(read_top(conn, Top(board, None, "")), 10)).values()
    assert [solve["value"] for solve in first["solves"]] == [-20, 500]
    assert read_top(conn, Top(board, 999, "")) == ()
    assert [solve["name"] for solve in decoded(read_solvers(conn, Solvers(number, True, "")))] == ["team"]
    assert len(decoded(read_solvers(conn, Solvers(number, False, "")))) == 2


def test_awards(any_conn: Connection, now: datetime) -> None:
    fields = awards_store.AwardFields(user_id=a_user(any_conn), value=3, category="7", requirements={"a": 1})
    made = awards_store.create_award(any_conn, now, fields)
    assert made["requirements"] == {"a": 1}
    assert awards_store.list_awards(any_conn, awards_store.AwardFilter(category=7, value=3)) == [made]
    with pytest.raises(Malformed):
        awards_store.create_award(any_conn, now, awards_store.AwardFields(user_id=10**6))
    awards_store.delete_award(any_conn, made["id"])
    assert awards_store.list_awards(any_conn, awards_store.AwardFilter()) == []


def decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)["data"]
