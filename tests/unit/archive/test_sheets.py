"""Claims about what stands in CSV files."""

import csv
import io
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams, users
from ctfd_twisted.archive.progress import Abandoned, Progress
from ctfd_twisted.archive.sheets import write_sheet
from ctfd_twisted.archive.store import ctfd_tables
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_submission, a_team, a_user, an_award

Line = dict[str, str]


def sheet(conn: Connection, name: str) -> list[Line]:
    """The lines of a CSV file by their columns; each has all of them."""
    file = io.BytesIO()
    write_sheet(conn, name, file, Progress())
    text = file.getvalue().decode()
    assert text.endswith("\r\n")
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    assert {len(line) for line in lines} <= {len(header)}
    return [dict(zip(header, line, strict=True)) for line in lines]


def a_field(conn: Connection, name: str, owner: str, **answers: Any) -> None:
    """A field, and the answers to it of accounts by their names."""
    number = insert_row(conn, fields, {"name": name, "type": owner, "field_type": "text"})
    table, column = (users, "user_id") if owner == "user" else (teams, "team_id")
    for who, value in answers.items():
        account = conn.execute(table.select().where(table.c.name == who)).one().id
        insert_row(conn, field_entries, {"type": owner, "field_id": number, column: account, "value": value})


def picked(lines: list[Line], *columns: str) -> list[tuple[str, ...]]:
    return [tuple(line[column] for column in columns) for line in lines]


@pytest.fixture
def event(conn: Connection, now: datetime) -> Connection:
    """Users ada, ben (hidden) and eve; ada has scored once more after the freeze."""
    write_config(conn, {"user_mode": "users", "freeze": int(now.timestamp())})
    easy, hard = a_challenge(conn, value=100), a_challenge(conn, value=500)
    bracket = insert_row(conn, brackets, {"name": "Students", "type": "users"})
    ada = a_user(conn, name="ada", bracket_id=bracket)
    ben = a_user(conn, name="ben", hidden=True)
    a_user(conn, name="eve")
    a_solve(conn, easy, ada, date=now - timedelta(hours=2))
    a_solve(conn, hard, ada, date=now + timedelta(hours=1))
    a_solve(conn, hard, ben, date=now - timedelta(hours=1))
    a_field(conn, "School", "user", ada="=HYPERLINK()", ben="Q")
    return conn


def test_the_board_stops_at_the_freeze(event: Connection) -> None:
    columns = ("place", "user name", "score", "user bracket name", "School")
    assert picked(sheet(event, "scoreboard"), *columns) == [("1", "ada", "100", "Students", "'=HYPERLINK()")]
    assert list(sheet(event, "scoreboard")[0]) == [
        *("place", "user name", "user id", "user email", "score", "user bracket id", "user bracket name"),
        "School",
    ]


def test_the_board_of_administrators_goes_on(event: Connection) -> None:
    lines = picked(sheet(event, "scoreboard-admin"), "place", "user name", "score")
    assert lines == [("1", "ada", "600"), ("2", "ben", "500")]


@pytest.fixture
def team_event(conn: Connection, now: datetime) -> Connection:
    """Team red: ada, its captain, and ben, who is hidden. Team blue has nobody and an award. eve is in no team."""
    write_config(conn, {"user_mode": "teams", "freeze": int(now.timestamp())})
    bracket = insert_row(conn, brackets, {"name": "Pros", "type": "teams"})
    red = a_team(conn, name="red", bracket_id=bracket, password="hash", email="red@example.org")
    blue = a_team(conn, name="blue", banned=True)
    ada = a_user(conn, name="ada", team_id=red)
    ben = a_user(conn, name="ben", team_id=red, hidden=True)
    a_user(conn, name="eve")
    conn.execute(update(teams).where(teams.c.id == red).values(captain_id=ada))
    before, after = now - timedelta(hours=1), now + timedelta(hours=1)
    a_solve(conn, a_challenge(conn, value=100), ada, team_id=red, date=before)
    a_solve(conn, a_challenge(conn, value=70), ben, team_id=red, date=after)
    an_award(conn, None, 20, team_id=blue, date=before)
    a_field(conn, "School", "user", ada="P", eve=False)
    a_field(conn, "City", "team", red="Berlin")
    return conn


TEAMS_BOARD = [
    *("place", "team", "team id", "score", "member name", "member id", "member email", "member score"),
    *("team bracket id", "team bracket name", "member bracket id", "member bracket name"),
    *("School", "City"),
]


def test_each_team_on_the_board_is_followed_by_its_members(team_event: Connection) -> None:
    columns = ("place", "team", "score", "member name", "member score", "team bracket name", "School", "City")
    lines = sheet(team_event, "scoreboard")
    assert list(lines[0]) == TEAMS_BOARD
    assert picked(lines, *columns) == [
        ("1", "red", "100", "", "", "Pros", "", "Berlin"),
        ("", "", "", "ada", "100", "", "P", ""),
        ("", "", "", "ben", "0", "", "", ""),
    ]
    assert picked(sheet(team_event, "scoreboard-admin"), *columns[:5]) == [
        ("1", "red", "170", "", ""),
        ("", "", "", "ada", "100"),
        ("", "", "", "ben", "70"),
        ("2", "blue", "20", "", ""),
    ]


def test_users_stand_beside_their_teams(team_event: Connection) -> None:
    lines = sheet(team_event, "users+teams+fields")
    assert list(lines[0]) == [
        *("id", "name", "email", "password", "School"),
        *("team_id", "team_name", "team_email", "team_password", "team_captain", "City"),
    ]
    columns = ("name", "School", "team_name", "team_email", "team_password", "team_captain", "City")
    assert picked(lines, *columns) == [
        ("ada", "P", "red", "red@example.org", "hash", "True", "Berlin"),
        ("ben", "", "red", "red@example.org", "hash", "False", "Berlin"),
        ("eve", "False", "", "", "", "", ""),
    ]


def test_teams_are_followed_by_all_about_their_members(team_event: Connection) -> None:
    lines = sheet(team_event, "teams+members+fields")
    members = [f"member_{column.name}" for column in users.c]
    assert list(lines[0]) == [*(column.name for column in teams.c), "City", *members, "School"]
    assert picked(lines, "name", "City", "member_name", "member_hidden", "School") == [
        ("red", "Berlin", "", "", ""),
        ("", "", "ada", "False", "P"),
        ("", "", "ben", "True", ""),
        ("blue", "", "", "", ""),
    ]


def test_accounts_come_with_their_answers(team_event: Connection) -> None:
    assert picked(sheet(team_event, "users+fields"), "name", "School") == [("ada", "P"), ("ben", ""), ("eve", "False")]
    assert picked(sheet(team_event, "teams+fields"), "name", "City") == [("red", "Berlin"), ("blue", "")]
    assert list(sheet(team_event, "users+fields")[0]) == [*(column.name for column in users.c), "School"]


def test_every_table_has_its_columns(conn: Connection) -> None:
    joined = {"solves", "dynamic_challenge"}
    for table in ctfd_tables():
        file = io.BytesIO()
        write_sheet(conn, table.name, file, Progress())
        header = file.getvalue().decode().rstrip("\r\n").split(",")
        assert set(header) >= {column.name for column in table.c}
        if table.name not in joined:
            assert header == [column.name for column in table.c]


def test_a_solve_has_what_its_submission_has(conn: Connection, now: datetime) -> None:
    solve = a_solve(conn, a_challenge(conn), a_user(conn), date=now, provided="@flag")
    (line,) = sheet(conn, "solves")
    assert list(line) == ["challenge_id", "user_id", "team_id", "id", "ip", "provided", "type", "date"]
    assert (line["id"], line["provided"], line["type"]) == (str(solve), "'@flag", "correct")
    assert line["date"] == "2026-03-14 15:09:26.535897"


def test_a_dynamic_challenge_has_the_decay_that_counts(conn: Connection) -> None:
    a_challenge(conn, name="dynamic", dynamic={"initial": 400, "minimum": 50, "decay": 9, "function": "linear"})
    a_challenge(conn, name="plain", requirements={"prerequisites": [1]}, description="=1")
    columns = ("name", "initial", "minimum", "decay", "function", "requirements")
    assert picked(sheet(conn, "challenges"), *columns) == [
        ("dynamic", "400", "50", "9", "linear", ""),
        ("plain", "", "", "", "static", "{'prerequisites': [1]}"),
    ]
    (line,) = sheet(conn, "dynamic_challenge")
    assert (line["name"], line["initial"], line["dynamic_initial"]) == ("dynamic", "400", "400")


def test_what_administrators_wrote_stays_as_it_is(conn: Connection) -> None:
    a_challenge(conn, name="=1+1")
    assert sheet(conn, "challenges")[0]["name"] == "=1+1"
    an_award(conn, a_user(conn), -5)
    assert sheet(conn, "awards")[0]["value"] == "-5"


def test_what_players_wrote_is_defused_in_every_table(conn: Connection) -> None:
    user = a_user(conn, name="=ada", website="+x", affiliation="-y")
    a_submission(conn, a_challenge(conn), user, provided="@z")
    assert picked(sheet(conn, "users"), "name", "website", "affiliation") == [("'=ada", "'+x", "'-y")]
    assert picked(sheet(conn, "submissions"), "provided") == [("'@z",)]


def test_a_sheet_that_nobody_wants_is_not_finished(conn: Connection) -> None:
    a_user(conn)
    progress = Progress()
    progress.abandon()
    with pytest.raises(Abandoned):
        write_sheet(conn, "users", io.BytesIO(), progress)


def test_a_sheet_that_is_written_again_begins_anew(conn: Connection) -> None:
    file = io.BytesIO(b"x" * 10_000)
    write_sheet(conn, "tags", file, Progress())
    assert file.getvalue() == b"id,challenge_id,value\r\n"
