"""``/api/v1/teams`` as clients see it: everybody, administrators, members and captains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams, users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import awards, solves, submissions
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_submission, a_team, a_user, an_award

SignUp = Callable[..., Client]
TEAMS = "/api/v1/teams"
MINE = "/api/v1/teams/me"
JSON = {"content_type": "application/json"}
USER_VIEW = {
    "id",
    "name",
    "website",
    "country",
    "affiliation",
    "bracket_id",
    "oauth_id",
    "captain_id",
    "fields",
    "members",
}
SELF_VIEW = USER_VIEW | {"email"}
ADMIN_VIEW = SELF_VIEW | {"banned", "hidden", "secret", "created"}


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup("teams")
    yield platform
    platform.close()


def store(platform: MemoryPlatform, fn: Callable[[Connection], Any]) -> Any:
    def run(conn: Connection) -> Any:
        touch(conn, EVERYTHING)
        return fn(conn)

    return platform.run(run)


@pytest.fixture
def captain(browser: SignUp) -> Client:
    """The captain of the team "T", whose password is "team"."""
    client = browser("captain")
    assert client.submit("/teams/new", name="T", password="team").location == "/challenges"
    return client


@pytest.fixture
def member(browser: SignUp, captain: Client) -> Client:  # noqa: ARG001 - the team must be there
    client = browser("member")
    assert client.submit("/teams/join", name="T", password="team").location == "/challenges"
    return client


def test_there_are_no_teams_in_users_mode(platform: MemoryPlatform, admin: Client) -> None:
    platform.configure(user_mode="users")
    for path in ("", "/1", "/me", "/1/members", "/1/solves", "/me/solves"):
        for client in (admin, platform.client()):
            assert client.get(TEAMS + path).status == 404
    assert admin.post(TEAMS, {"name": "x", "password": "x"}).status == 404


def test_an_admin_creates_a_team(admin: Client) -> None:
    data = admin.post(TEAMS, {"name": "T", "password": "p", "email": ""}).data
    assert set(data) == ADMIN_VIEW
    assert (data["members"], data["captain_id"], data["email"]) == ([], None, None)
    assert admin.post(TEAMS, {"name": "U", "password": "p", "email": ""}).status == 200


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({"name": ""}, {"name": ["Team names must not be empty"]}),
        ({"name": " taken "}, {"name": ["Team name has already been taken"]}),
        ({"email": "x"}, {"email": ["Emails must be a properly formatted email address"]}),
        ({"email": "t@example.org"}, {"email": ["Email address has already been used"]}),
        ({"captain_id": 1}, {"captain_id": ["Invalid Captain ID"]}),
        ({"bracket_id": 9}, {"bracket_id": ["Please provide a valid bracket id"]}),
        ({"password": None}, {"password": ["Field may not be null."]}),
        ({"website": "x", "country": "us"}, {
            "website": ["Websites must be a proper URL starting with http or https"], "country": ["Invalid Country"],
        }),
        ({"captain_id": 1, "email": "t@example.org", "name": "taken"}, {"captain_id": ["Invalid Captain ID"]}),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(
    platform: MemoryPlatform, admin: Client, change: dict[str, Any], errors: dict[str, Any]
) -> None:
    store(platform, lambda conn: a_team(conn, name="taken", email="t@example.org"))
    reply = admin.post(TEAMS, {"name": "T", "password": "p", **change})
    assert (reply.status, reply.json) == (400, {"success": False, "errors": errors})
    if "name" not in change and "email" not in change:
        assert admin.patch(f"{TEAMS}/1", change).errors == errors


def test_name_and_password_are_required(admin: Client) -> None:
    assert set(admin.post(TEAMS, {}).errors) == {"name", "password"}


def test_an_admin_edits_a_team_and_any_bracket_will_do(platform: MemoryPlatform, admin: Client) -> None:
    def some(conn: Connection) -> tuple[int, int, int]:
        team_id = a_team(conn)
        bracket = insert_row(conn, brackets, {"name": "b", "description": None, "type": "users"})
        return team_id, a_user(conn, team_id=team_id), bracket

    team_id, user_id, bracket = store(platform, some)
    change = {"captain_id": user_id, "bracket_id": bracket, "hidden": True, "affiliation": "A", "members": []}
    data = admin.patch(f"{TEAMS}/{team_id}", change).data
    assert (data["captain_id"], data["bracket_id"], data["hidden"], data["members"]) == (
        user_id,
        bracket,
        True,
        [user_id],
    )
    assert admin.patch(f"{TEAMS}/99", {"name": "x"}).status == 404


def test_lists_show_no_members_and_nobody_hidden(platform: MemoryPlatform, admin: Client) -> None:
    store(platform, lambda conn: [a_team(conn, name="seen"), a_team(conn, hidden=True), a_team(conn, banned=True)])
    public = platform.client().get(TEAMS)
    assert [set(team) for team in public.data] == [USER_VIEW - {"members"}]
    assert public.json["meta"]["pagination"]["total"] == 1
    assert set(admin.get(TEAMS).data[0]) == ADMIN_VIEW - {"members"}
    assert len(admin.get(f"{TEAMS}?view=admin").data) == 3
    assert platform.client().get(f"{TEAMS}?field=email").errors == {"field": "Emails can only be queried by admins"}


def test_profiles_are_for_who_looks(platform: MemoryPlatform, admin: Client, captain: Client) -> None:
    assert set(platform.client().get(f"{TEAMS}/1").data) == USER_VIEW | {"place", "score"}
    assert set(captain.get(f"{TEAMS}/1", **JSON).data) == USER_VIEW | {"place", "score"}
    assert set(captain.get(MINE, **JSON).data) == SELF_VIEW | {"place", "score"}
    assert set(admin.get(f"{TEAMS}/1").data) == ADMIN_VIEW | {"place", "score"}
    for column in ("hidden", "banned"):
        admin.patch(f"{TEAMS}/1", {"hidden": False, "banned": False, column: True})
        for path in ("", "/solves", "/fails", "/awards"):
            assert platform.client().get(f"{TEAMS}/1{path}").status == 404
            assert admin.get(f"{TEAMS}/1{path}").status == 200


def test_hidden_members_are_not_told_to_the_public(
    platform: MemoryPlatform, admin: Client, captain: Client, member: Client
) -> None:
    ids = captain.get(MINE, **JSON).data["members"]
    admin.patch(f"/api/v1/users/{ids[0]}", {"hidden": True})
    public = platform.client().get(f"{TEAMS}/1").data
    assert (public["members"], public["captain_id"]) == ([ids[1]], None)
    assert member.get(MINE, **JSON).data["members"] == ids
    assert admin.get(f"{TEAMS}/1/members").data == ids


def test_a_solve_of_a_hidden_member_has_no_name_for_the_public(
    platform: MemoryPlatform, admin: Client, captain: Client
) -> None:
    captain_id = captain.get(MINE, **JSON).data["captain_id"]
    store(platform, lambda conn: a_solve(conn, a_challenge(conn), captain_id, team_id=1))
    assert platform.client().get(f"{TEAMS}/1/solves").data[0]["user"] == {"id": captain_id, "name": "captain"}
    admin.patch(f"/api/v1/users/{captain_id}", {"hidden": True})
    assert platform.client().get(f"{TEAMS}/1/solves").data[0]["user"] is None
    assert admin.get(f"{TEAMS}/1/solves").data[0]["user"]["id"] == captain_id


def test_scores_are_the_members_sum_frozen_but_for_the_team(
    platform: MemoryPlatform, admin: Client, captain: Client, member: Client
) -> None:
    ids = captain.get(MINE, **JSON).data["members"]

    def play(conn: Connection) -> None:
        a_solve(conn, a_challenge(conn), ids[0], team_id=1, date=platform.now)
        an_award(conn, ids[1], 5, team_id=1, date=platform.now + timedelta(hours=1))
        an_award(conn, a_user(conn, team_id=a_team(conn)), 500, team_id=2, date=platform.now)

    store(platform, play)
    platform.configure(freeze=int(platform.now.timestamp()) + 60)
    for client in (platform.client(), admin):
        data = client.get(f"{TEAMS}/1").data
        assert (data["score"], data["place"]) == (100, "2nd")
    mine = member.get(MINE, **JSON).data
    assert (mine["score"], mine["place"]) == (105, "2nd")
    platform.configure(score_visibility="hidden")
    mine = member.get(MINE, **JSON).data
    assert (mine["score"], mine["place"]) == (105, None)


def test_solves_fails_and_awards_of_the_members(
    platform: MemoryPlatform, admin: Client, captain: Client, member: Client
) -> None:
    ids = captain.get(MINE, **JSON).data["members"]

    def play(conn: Connection) -> None:
        challenge = a_challenge(conn)
        a_submission(conn, challenge, ids[0], team_id=1, date=platform.now)
        a_solve(conn, challenge, ids[1], team_id=1, date=platform.now + timedelta(minutes=2))
        an_award(conn, ids[0], 5, team_id=1, date=platform.now)

    store(platform, play)
    platform.configure(freeze=int(platform.now.timestamp()) + 60)
    assert platform.client().get(f"{TEAMS}/1/solves").json["meta"] == {"count": 0}
    assert captain.get(f"{MINE}/solves", **JSON).json["meta"] == {"count": 1}
    assert admin.get(f"{TEAMS}/1/solves").json["meta"] == {"count": 1}
    fails = member.get(f"{MINE}/fails", **JSON)
    assert (fails.data, fails.json["meta"]) == ([], {"count": 1})
    assert admin.get(f"{TEAMS}/1/fails").data[0]["provided"] == "flag{wrong}"
    full = {
        "id", "user_id", "user", "team_id", "team", "type", "name", "description", "date", "value", "category", "icon",
        "requirements",
    }  # fmt: skip
    assert set(platform.client().get(f"{TEAMS}/1/awards").data[0]) == full
    assert set(member.get(f"{MINE}/awards", **JSON).data[0]) == full
    admin.patch(f"/api/v1/users/{ids[0]}", {"hidden": True})
    for_all, for_admin = (who.get(f"{TEAMS}/1/awards").data[0] for who in (platform.client(), admin))
    assert (for_all["value"], for_all["user_id"], for_all["user"]) == (5, None, None)
    assert for_admin["user_id"] == for_admin["user"] == ids[0]


def test_one_without_a_team_has_none_to_ask_about(platform: MemoryPlatform, browser: SignUp) -> None:
    loner = browser("loner")
    assert loner.get(MINE, **JSON).status == 403
    assert loner.get(MINE).location == "/team?next=%2Fapi%2Fv1%2Fteams%2Fme%3F"
    assert platform.client().get(MINE).location.startswith("/login?next=")


def test_only_the_captain_edits_the_team(captain: Client, member: Client) -> None:
    reply = member.patch(MINE, {"name": "x"})
    assert (reply.status, reply.json) == (
        403, {"success": False, "errors": {"": ["Only team captains can edit team information"]}},
    )  # fmt: skip
    data = captain.patch(MINE, {"name": "New", "affiliation": "A", "hidden": True, "banned": True, "secret": "s"}).data
    assert set(data) == SELF_VIEW
    assert data["name"] == "New"


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({"name": "taken"}, {"name": ["Team name has already been taken"]}),
        ({"name": ""}, {"name": ["Team names must not be empty"]}),
        ({"captain_id": 99}, {"captain_id": ["Only team members can be promoted to captain"]}),
        ({"password": "x"}, {"confirm": ["Please confirm your current password"]}),
        ({"password": "x", "confirm": "wrong"}, {"confirm": ["Your previous password is incorrect"]}),
        ({"bracket_id": 99}, {"bracket_id": ["Please provide a valid bracket id"]}),
        ({"email": "x"}, {"email": ["Emails must be a properly formatted email address"]}),
    ],
)
def test_a_captains_wrong_change_is_named(
    platform: MemoryPlatform, captain: Client, change: dict[str, Any], errors: dict[str, Any]
) -> None:
    store(platform, lambda conn: a_team(conn, name="taken"))
    assert captain.patch(MINE, change).errors == errors


@pytest.mark.parametrize("confirm", ["team", "secret"])
def test_a_new_password_is_confirmed_by_the_teams_or_the_captains_own(
    captain: Client, browser: SignUp, confirm: str
) -> None:
    assert captain.patch(MINE, {"password": "new", "confirm": confirm}).status == 200
    friend = browser("friend")
    assert "That information is incorrect" in friend.submit("/teams/join", name="T", password="team").text
    assert friend.submit("/teams/join", name="T", password="new").status == 302


def test_names_are_fixed_where_the_setting_says_so(platform: MemoryPlatform, captain: Client) -> None:
    platform.configure(name_changes=False)
    assert captain.patch(MINE, {"name": "T2"}).errors == {"name": ["Name changes are disabled"]}
    assert captain.patch(MINE, {"name": "T"}).status == 200


def test_captaincy_is_handed_on_and_never_dropped(captain: Client, member: Client) -> None:
    ids = captain.get(MINE, **JSON).data["members"]
    assert captain.patch(MINE, {"captain_id": None}).data["captain_id"] == ids[0]
    assert captain.patch(MINE, {"captain_id": ids[1]}).data["captain_id"] == ids[1]
    assert captain.patch(MINE, {"name": "x"}).status == 403
    assert member.patch(MINE, {"name": "x"}).status == 200


def test_a_bracket_of_teams_is_chosen_once(platform: MemoryPlatform, captain: Client) -> None:
    def some(conn: Connection) -> list[int]:
        return [
            insert_row(conn, brackets, {"name": "b", "description": None, "type": of})
            for of in ("users", "teams", "teams")
        ]

    of_users, first, second = store(platform, some)
    assert captain.patch(MINE, {"bracket_id": of_users}).errors == {"bracket_id": ["Please provide a valid bracket id"]}
    assert captain.patch(MINE, {"bracket_id": first}).status == 200
    assert captain.patch(MINE, {"bracket_id": second}).errors == {
        "bracket_id": ["Please contact an admin to change your bracket"]
    }


def test_an_idle_team_is_disbanded_by_its_captain(platform: MemoryPlatform, captain: Client, member: Client) -> None:
    reply = member.delete(MINE, {})
    assert (reply.status, reply.errors) == (403, {"": ["Only team captains can disband their team"]})
    platform.configure(team_disbanding="disabled")
    assert captain.delete(MINE, {}).errors == {"": ["Team disbanding is currently disabled"]}
    platform.configure(team_disbanding="inactive_only")
    assert captain.delete(MINE, {}).json == {"success": True}
    assert platform.run(lambda conn: conn.execute(select(teams)).all()) == []
    assert member.get("/api/v1/users/me", **JSON).data["team_id"] is None


@pytest.mark.parametrize("deed", [a_submission, a_solve])
def test_a_team_that_did_something_stays(platform: MemoryPlatform, captain: Client, deed: Callable[..., int]) -> None:
    captain_id = captain.get(MINE, **JSON).data["captain_id"]
    store(platform, lambda conn: deed(conn, a_challenge(conn), captain_id, team_id=1))
    message = (
        "You cannot disband your team as it has participated in the event. "
        "Please contact an admin to disband your team or remove a member."
    )
    assert captain.delete(MINE, {}).errors == {"": [message]}


def test_an_award_keeps_a_team_too(platform: MemoryPlatform, captain: Client) -> None:
    captain_id = captain.get(MINE, **JSON).data["captain_id"]
    store(platform, lambda conn: an_award(conn, captain_id))
    assert captain.delete(MINE, {}).status == 403


def test_deleting_a_team_leaves_its_members(platform: MemoryPlatform, admin: Client, captain: Client) -> None:
    captain_id = captain.get(MINE, **JSON).data["captain_id"]

    def play(conn: Connection) -> None:
        a_solve(conn, a_challenge(conn), captain_id, team_id=1)
        an_award(conn, captain_id, team_id=1)
        field = insert_row(conn, fields, {"name": "f", "type": "team", "field_type": "text", "description": ""})
        insert_row(conn, field_entries, {"type": "team", "value": "x", "field_id": field, "team_id": 1})

    store(platform, play)
    assert admin.delete(f"{TEAMS}/1", {}).json == {"success": True}
    assert admin.delete(f"{TEAMS}/1", {}).status == 404
    for table in (teams, solves, submissions, awards, field_entries):
        assert platform.run(lambda conn, table=table: conn.execute(select(table)).all()) == []
    row = platform.run(lambda conn: conn.execute(select(users).where(users.c.id == captain_id)).one())
    assert row.team_id is None


def test_members_are_added_and_removed_by_admins(platform: MemoryPlatform, admin: Client, captain: Client) -> None:
    captain_id = captain.get(MINE, **JSON).data["captain_id"]
    user_id = store(platform, a_user)
    assert admin.post(f"{TEAMS}/1/members", {"user_id": str(user_id)}).data == [captain_id, user_id]
    again = admin.post(f"{TEAMS}/1/members", {"user_id": user_id})
    assert (again.status, again.errors) == (400, {"id": ["User has already joined a team"]})
    assert admin.post(f"{TEAMS}/1/members", {"user_id": 99}).status == 404
    assert admin.post(f"{TEAMS}/99/members", {"user_id": user_id}).status == 404

    def play(conn: Connection) -> None:
        challenge = a_challenge(conn)
        a_solve(conn, challenge, user_id, team_id=1)
        an_award(conn, user_id, team_id=1)
        a_submission(conn, challenge, captain_id, team_id=1)

    store(platform, play)
    assert admin.delete(f"{TEAMS}/1/members", {"user_id": user_id}).data == [captain_id]
    assert admin.delete(f"{TEAMS}/1/members", {"user_id": user_id}).errors == {"id": ["User is not part of this team"]}
    assert admin.delete(f"{TEAMS}/1/members", {}).errors == {"user_id": ["Missing data for required field."]}
    rows = platform.run(
        lambda conn: [len(conn.execute(select(table)).all()) for table in (solves, submissions, awards)]
    )
    assert rows == [0, 1, 0]
    assert captain.get(f"{TEAMS}/1/members", **JSON).status == 403


def test_removing_the_captain_leaves_the_captaincy(admin: Client, captain: Client, member: Client) -> None:
    ids = captain.get(MINE, **JSON).data["members"]
    assert admin.delete(f"{TEAMS}/1/members", {"user_id": ids[0]}).data == [ids[1]]
    assert admin.get(f"{TEAMS}/1").data["captain_id"] == ids[0]
    assert member.get(MINE, **JSON).data["members"] == [ids[1]]


def test_deleting_the_captain_leaves_the_team_without_one(admin: Client, captain: Client, member: Client) -> None:
    ids = captain.get(MINE, **JSON).data["members"]
    admin.delete(f"/api/v1/users/{ids[0]}", {})
    data = member.get(MINE, **JSON).data
    assert (data["captain_id"], data["members"]) == (None, [ids[1]])


def test_invites_are_made_by_captains_and_admins(admin: Client, captain: Client, member: Client) -> None:
    assert member.post(f"{MINE}/members", {}).errors == {"": ["Only team captains can generate invite codes"]}
    code = captain.post(f"{MINE}/members", {}).data["code"]
    assert code.count(".") == 2
    assert set(admin.post(f"{TEAMS}/1/members", {}).data) == {"code"}
    empty = admin.request("POST", f"{TEAMS}/1/members", content_type="application/json")
    assert set(empty.data) == {"code"}
    assert admin.post(f"{TEAMS}/99/members", {}).status == 404
