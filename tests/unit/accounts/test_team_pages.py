"""Founding and joining teams, as browsers do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_team
from ctfd_twisted.webhooks.tables import events

SignUp = Callable[..., Client]
MINE = "/api/v1/teams/me"
JSON = {"content_type": "application/json"}
IN_A_TEAM = "You are already in a team. You cannot join another."


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup("teams")
    yield platform
    platform.close()


def alerts(reply: Reply) -> list[str]:
    return re.findall(r'alert-danger" role="alert"><span>(.*?)</span>', reply.text)


def found(client: Client, name: str = "T", password: str = "team") -> Client:
    assert client.submit("/teams/new", name=name, password=password).location == "/challenges"
    return client


def invite(captain: Client) -> str:
    return str(captain.post(f"{MINE}/members", {}).data["code"])


def test_the_ways_into_teams_are_not_there_in_users_mode(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    platform.configure(user_mode="users")
    for path in ("/teams/new", "/teams/join", "/teams/invite?code=x"):
        assert bob.get(path).status == platform.client().get(path).status == 404


def test_visitors_sign_in_first_and_the_invited_may_register(platform: MemoryPlatform) -> None:
    client = platform.client()
    assert client.get("/teams/new").location == "/login?next=%2Fteams%2Fnew%3F"
    assert client.get("/teams/join").location == "/login?next=%2Fteams%2Fjoin%3F"
    assert client.get("/teams/invite?code=x").location == "/register?next=%2Fteams%2Finvite%3Fcode%3Dx"
    platform.configure(registration_visibility="private")
    assert client.get("/teams/invite?code=x").location == "/login?next=%2Fteams%2Finvite%3Fcode%3Dx"


def test_the_founder_is_captain(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = found(browser("bob"))
    data = bob.get(MINE, **JSON).data
    assert data["members"] == [data["captain_id"]]
    told = platform.run(lambda conn: conn.execute(select(events.c.event, events.c.body)).all())
    assert told[-1].event == "team.created"
    assert bytes(told[-1].body).count(b'"members":[') == 1


def test_the_team_of_an_admin_is_hidden(platform: MemoryPlatform, browser: SignUp) -> None:
    found(browser("boss", type="admin"))
    assert platform.run(lambda conn: conn.scalar(select(teams.c.hidden))) is True


def test_problems_of_a_new_team_come_with_403_and_the_page(platform: MemoryPlatform, browser: SignUp) -> None:
    def prepare(conn: object) -> None:
        touch(conn, EVERYTHING)  # type: ignore[arg-type]
        a_team(conn, name="taken")  # type: ignore[arg-type]
        field = {"name": "f", "type": "team", "field_type": "text", "description": "", "required": True}
        insert_row(conn, fields, field)  # type: ignore[arg-type]
        insert_row(conn, brackets, {"name": "b", "description": None, "type": "teams"})  # type: ignore[arg-type]

    platform.run(prepare)
    bob = browser("bob")
    reply = bob.submit(
        "/teams/new", name=" taken ", password="", website="x", country="QQ", affiliation="x" * 128, bracket_id="9"
    )
    assert reply.status == 403
    assert alerts(reply) == [
        "That team name is already taken",
        "Please provide all required fields",
        "Websites must be a proper URL starting with http or https",
        "Invalid country",
        "Please provide a shorter affiliation",
        "Please provide a valid bracket",
    ]
    assert alerts(bob.submit("/teams/new", name="", bracket_id="1", **{"fields[1]": "x"})) == [
        "That team name is invalid"
    ]
    good = {"name": "T", "password": "", "bracket_id": "1", "fields[1]": "x"}
    assert bob.submit("/teams/new", **good).status == 302
    assert platform.run(lambda conn: conn.scalar(select(field_entries.c.value))) == "x"
    again = bob.submit("/teams/new", name="U", bracket_id="1", **{"fields[1]": "x"})
    assert (again.status, alerts(again)) == (403, [IN_A_TEAM])
    assert alerts(bob.get("/teams/new")) == [IN_A_TEAM]


def test_no_team_is_founded_where_that_is_off_or_full(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    platform.configure(team_creation=False)
    for reply in (bob.get("/teams/new"), bob.submit("/teams/new", name="T")):
        assert reply.status == 403
        assert "Team creation is currently disabled. Please join an existing team." in reply.text
    platform.configure(team_creation=True, num_teams=1)
    found(bob)
    reply = browser("eve").get("/teams/new")
    assert reply.status == 403
    assert "Reached the maximum number of teams (1). Please join an existing team." in reply.text


def test_a_team_is_joined_by_its_name_and_password(browser: SignUp) -> None:
    bob, eve = found(browser("bob")), browser("eve")
    for name, password in (("T", "x"), ("U", "team"), ("T", ""), ("", "")):
        reply = eve.submit("/teams/join", name=name, password=password)
        assert (reply.status, alerts(reply)) == (200, ["That information is incorrect"])
    assert eve.submit("/teams/join", name="T", password="team").location == "/challenges"
    assert len(bob.get(MINE, **JSON).data["members"]) == 2
    again = eve.submit("/teams/join", name="T", password="team")
    assert (again.status, alerts(again)) == (403, [IN_A_TEAM])
    assert eve.get("/teams/join").status == 403


@pytest.mark.parametrize("password", [None, "", "malformed"])
def test_a_team_without_a_password_is_not_joined_by_an_empty_one(
    platform: MemoryPlatform, browser: SignUp, password: str | None
) -> None:
    def prepare(conn: object) -> None:
        touch(conn, EVERYTHING)  # type: ignore[arg-type]
        a_team(conn, name="open", password=password)  # type: ignore[arg-type]

    platform.run(prepare)
    eve = browser("eve")
    assert alerts(eve.submit("/teams/join", name="open", password="")) == ["That information is incorrect"]
    found(browser("bob"), "empty", "")
    assert alerts(eve.submit("/teams/join", name="empty", password="")) == ["That information is incorrect"]


def test_the_first_member_of_an_empty_team_becomes_captain(admin: Client, browser: SignUp) -> None:
    admin.post("/api/v1/teams", {"name": "T", "password": "team", "hidden": True})
    eve = browser("eve")
    assert eve.submit("/teams/join", name="T", password="team").status == 302
    data = eve.get(MINE, **JSON).data
    assert data["members"] == [data["captain_id"]]


def test_a_full_team_takes_nobody(platform: MemoryPlatform, browser: SignUp) -> None:
    bob, eve = found(browser("bob")), browser("eve")
    platform.configure(team_size=1)
    reply = eve.submit("/teams/join", name="T", password="team")
    assert (reply.status, alerts(reply)) == (200, ["T has already reached the team size limit of 1"])
    reply = invited(eve, invite(bob))
    assert (reply.status, alerts(reply)) == (403, ["T has already reached the team size limit of 1"])
    platform.configure(team_size=0)
    assert invited(eve, invite(bob)).location == "/challenges"


def invited(client: Client, code: str) -> Reply:
    return client.request("POST", "/teams/invite", data={"nonce": client.nonce}, params={"code": code})


def test_an_invite_needs_no_password_and_changes_no_captain(admin: Client, browser: SignUp) -> None:
    bob, eve = found(browser("bob")), browser("eve")
    code = invite(bob)
    page = eve.get(f"/teams/invite?code={code}")
    assert page.status == 200
    assert "<strong>T</strong>" in page.text
    assert invited(eve, code).location == "/challenges"
    assert bob.get(MINE, **JSON).data["captain_id"] == bob.get("/api/v1/users/me", **JSON).data["id"]
    assert alerts(invited(eve, code)) == [IN_A_TEAM]
    admin.post("/api/v1/teams", {"name": "U", "password": ""})
    loner = browser("loner")
    assert invited(loner, admin.post("/api/v1/teams/2/members", {}).data["code"]).status == 302
    assert loner.get(MINE, **JSON).data["captain_id"] is None


def test_an_invite_dies_of_age_a_new_password_and_forgery(platform: MemoryPlatform, browser: SignUp) -> None:
    bob, eve = found(browser("bob")), browser("eve")
    code = invite(bob)
    assert eve.get("/teams/invite").status == 404
    for wrong in ("x", code[:-2], code + "x", code.replace(".", "", 1)):
        reply = eve.get(f"/teams/invite?code={wrong}")
        assert reply.status == 403
        assert "This invite URL is invalid" in reply.text
    platform.clock.advance(86_400)
    assert eve.get(f"/teams/invite?code={code}").status == 200
    platform.clock.advance(1)
    reply = invited(eve, code)
    assert reply.status == 403
    assert "This invite URL has expired" in reply.text
    fresh = invite(bob)
    assert bob.patch(MINE, {"password": "new", "confirm": "team"}).status == 200
    assert "This invite URL is invalid" in invited(eve, fresh).text


def test_the_eleventh_try_in_five_seconds_waits(browser: SignUp) -> None:
    eve = browser("eve")
    for _ in range(10):
        assert eve.submit("/teams/join", name="x", password="x").status == 200
    assert eve.submit("/teams/join", name="x", password="x").status == 429
