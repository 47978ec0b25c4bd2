"""``/api/v1/users`` as clients see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import audience_members, audiences, brackets, field_entries, fields, users
from ctfd_twisted.challenges.tables import module_audience_access, modules
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.recording import give_award
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_hint, a_solve, a_submission, a_team, a_user, an_award
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.webhooks.tables import events

SignUp = Callable[..., Client]

BOB = {"name": "bob", "email": "bob@example.org", "password": "secret"}
USER_VIEW = {"id", "team_id", "bracket_id", "oauth_id", "name", "website", "country", "affiliation", "fields"}
SELF_VIEW = USER_VIEW | {"email", "language"}
ADMIN_VIEW = SELF_VIEW | {"type", "banned", "hidden", "verified", "change_password", "secret", "created"}


def made(platform: MemoryPlatform, build: Callable[..., int], *args: Any, **columns: Any) -> int:
    def build_and_tell(conn: Connection) -> int:
        touch(conn, EVERYTHING)
        return build(conn, *args, **columns)

    return int(platform.run(build_and_tell))


def a_field(conn: Connection, **columns: Any) -> int:
    values = {"name": "f", "type": "user", "field_type": "text", "description": "d", "required": False}
    return insert_row(conn, fields, {**values, "public": True, "editable": True, **columns})


def a_bracket(conn: Connection, type: str = "users") -> int:
    return insert_row(conn, brackets, {"name": "Students", "description": None, "type": type})


def test_the_specifications_user_is_created(platform: MemoryPlatform, admin: Client) -> None:
    body = {**BOB, "type": "user", "verified": False, "hidden": False, "banned": False, "fields": []}
    reply = admin.post("/api/v1/users?notify=true", body)
    assert reply.status == 200
    assert set(reply.data) == ADMIN_VIEW
    assert reply.data["created"] == platform.now.isoformat()
    names = platform.run(lambda conn: conn.execute(select(events.c.event)).scalars().all())
    assert names == ["user.created"]


def test_a_created_user_can_sign_in_and_an_admin_is_one(platform: MemoryPlatform, admin: Client) -> None:
    assert admin.post("/api/v1/users", {**BOB, "type": "admin"}).data["type"] == "admin"
    bob = platform.client()
    assert bob.submit("/login", name="bob", password="secret").location == "/challenges"
    assert bob.get("/api/v1/users/1?view=admin", content_type="application/json").status == 200
    assert bob.post("/api/v1/users", {}).errors.keys() == {"name", "password"}


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        ({"name": ""}, {"name": ["User names must not be empty"]}),
        ({"name": "x" * 129}, {"name": ["User names must not be empty"]}),
        ({"name": None}, {"name": ["Field may not be null."]}),
        ({"name": 5}, {"name": ["Not a valid string."]}),
        ({"name": " taken "}, {"name": ["User name has already been taken"]}),
        ({"email": "taken@example.org"}, {"email": ["Email address has already been used"]}),
        ({"email": "x"}, {"email": ["Emails must be a properly formatted email address"]}),
        ({"email": None}, {"email": ["Field may not be null."]}),
        ({"password": None}, {"password": ["Field may not be null."]}),
        ({"website": "nowhere"}, {"website": ["Websites must be a proper URL starting with http or https"]}),
        ({"country": "us"}, {"country": ["Invalid Country"]}),
        ({"language": "xx"}, {"language": ["Invalid Language"]}),
        ({"affiliation": "x" * 129}, {"affiliation": ["Longer than maximum length 128."]}),
        ({"bracket_id": 99}, {"bracket_id": ["Please provide a valid bracket id"]}),
        ({"hidden": "perhaps"}, {"hidden": ["Not a valid boolean."]}),
        ({"website": "x", "country": "us"}, {
            "website": ["Websites must be a proper URL starting with http or https"],
            "country": ["Invalid Country"],
        }),
        # The first of bracket, e-mail, fields and name is reported alone.
        ({"bracket_id": 99, "email": "taken@example.org", "website": "x"}, {
            "bracket_id": ["Please provide a valid bracket id"],
        }),
        ({"email": "taken@example.org", "name": "taken"}, {"email": ["Email address has already been used"]}),
        ({"name": "taken", "website": "x"}, {"name": ["User name has already been taken"]}),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(
    platform: MemoryPlatform, admin: Client, change: dict[str, Any], errors: dict[str, Any]
) -> None:
    made(platform, a_user, name="taken", email="taken@example.org")
    reply = admin.post("/api/v1/users", {**BOB, **change})
    assert (reply.status, reply.json) == (400, {"success": False, "errors": errors})


def test_name_and_password_are_required(admin: Client) -> None:
    reply = admin.post("/api/v1/users", {"email": "x"})
    assert reply.errors == {
        "name": ["Missing data for required field."],
        "password": ["Missing data for required field."],
        "email": ["Emails must be a properly formatted email address"],
    }


@pytest.mark.parametrize("blanks", [" bob ", "\tbob\n", "bob\u2003", "\xa0bob"])
def test_a_name_stored_with_blanks_is_taken_without_them(admin: Client, blanks: str) -> None:
    assert admin.post("/api/v1/users", {**BOB, "name": blanks}).data["name"] == blanks
    reply = admin.post("/api/v1/users", {**BOB, "email": "b2@example.org"})
    assert reply.errors == {"name": ["User name has already been taken"]}


def test_players_do_not_create_change_or_delete_users(platform: MemoryPlatform) -> None:
    player = platform.player("eve")
    for reply in (
        player.post("/api/v1/users", BOB),
        player.patch("/api/v1/users/1", {"name": "x"}),
        player.delete("/api/v1/users/1", {}),
    ):
        assert reply.status == 403


def test_an_edit_changes_what_it_names_and_never_ids(admin: Client) -> None:
    user_id = admin.post("/api/v1/users", BOB).data["id"]
    change = {"affiliation": "A", "hidden": True, "id": 99, "team_id": 5, "oauth_id": 7, "created": "x"}
    data = admin.patch(f"/api/v1/users/{user_id}", change).data
    assert (data["id"], data["name"], data["affiliation"], data["hidden"]) == (user_id, "bob", "A", True)
    assert (data["team_id"], data["oauth_id"]) == (None, None)
    assert admin.patch("/api/v1/users/99", {"name": "x"}).status == 404


def test_nobody_bans_or_deletes_themselves(admin: Client) -> None:
    me = admin.get("/api/v1/users/me").data["id"]
    for banned in (True, "true"):
        assert admin.patch(f"/api/v1/users/{me}", {"banned": banned}).json == {
            "success": False,
            "errors": {"id": "You cannot ban yourself"},
        }
    reply = admin.delete(f"/api/v1/users/{me}", {})
    assert (reply.status, reply.errors) == (400, {"id": "You cannot delete yourself"})


def test_deleting_somebody_unknown_succeeds(admin: Client) -> None:
    reply = admin.delete("/api/v1/users/99", {})
    assert (reply.status, reply.json) == (200, {"success": True})


def test_a_ban_counts_from_the_next_request_on_also_for_tokens(platform: MemoryPlatform, admin: Client) -> None:
    player = platform.player("eve")
    user_id = player.get("/api/v1/users/me").data["id"]
    assert admin.patch(f"/api/v1/users/{user_id}", {"banned": True}).status == 200
    reply = player.get("/api/v1/users/me")
    assert reply.status == 403
    assert "You have been banned from this CTF" in reply.text


def test_the_list_shows_the_public_view_to_everybody(platform: MemoryPlatform, admin: Client) -> None:
    made(platform, a_user, name="seen", secret="s")
    made(platform, a_user, name="hidden", hidden=True)
    made(platform, a_user, name="banned", banned=True)
    made(platform, a_user, name="old row", hidden=None)
    for client in (platform.client(), admin):
        data = client.get("/api/v1/users").data
        assert [user["name"] for user in data] == ["seen"]
        assert set(data[0]) == USER_VIEW
    names = [user["name"] for user in admin.get("/api/v1/users?view=admin").data]
    assert names == ["admin", "seen", "hidden", "banned", "old row"]
    assert [user["name"] for user in platform.client().get("/api/v1/users?view=admin").data] == ["seen"]


def test_the_list_comes_in_pages_of_fifty_whatever_is_asked(platform: MemoryPlatform) -> None:
    def many(conn: Connection) -> None:
        for _ in range(51):
            a_user(conn)

    platform.run(many)
    client = platform.client()
    first = client.get("/api/v1/users?per_page=5")
    assert len(first.data) == 50
    assert first.json["meta"]["pagination"] == {
        "page": 1, "next": 2, "prev": None, "pages": 2, "per_page": 50, "total": 51,
    }  # fmt: skip
    assert len(client.get("/api/v1/users?page=2").data) == 1
    past = client.get("/api/v1/users?page=9")
    assert (past.data, past.json["meta"]["pagination"]["prev"]) == ([], 8)
    assert client.get("/api/v1/users?page=0").json["meta"]["pagination"]["page"] == 1


def test_the_list_is_filtered_and_searched(platform: MemoryPlatform, admin: Client) -> None:
    bracket = made(platform, a_bracket)
    made(platform, a_user, name="ada", affiliation="A", country="GB", bracket_id=bracket)
    made(platform, a_user, name="bob", affiliation="B", country="US")

    def names(query: str, client: Client = platform.client()) -> list[str]:  # noqa: B008 - stateless enough
        return [user["name"] for user in client.get(f"/api/v1/users?{query}").data]

    assert names("affiliation=A") == ["ada"]
    assert names("affiliation=A&country=US") == []
    assert names("q=d&field=name") == ["ada"]
    assert names("q=d") == names("field=name") == ["ada", "bob"]
    assert names(f"bracket={bracket}") == names(f"field=bracket&q={bracket}") == ["ada"]
    assert names("bracket=x") == []
    email = admin.get("/api/v1/users?view=admin&field=email&q=player").data
    assert {user["name"] for user in email} == {"ada", "bob"}


def test_players_cannot_search_by_email_nor_by_other_columns(platform: MemoryPlatform) -> None:
    for query in ("field=email", "field=email&q=x"):
        reply = platform.client().get(f"/api/v1/users?{query}")
        assert (reply.status, reply.errors) == (400, {"field": "Emails can only be queried by admins"})
    reply = platform.client().get("/api/v1/users?field=password&q=x")
    assert reply.errors == {
        "field": "value is not a valid enumeration member; permitted: "
        "'name', 'website', 'country', 'bracket', 'affiliation', 'email'"
    }


def test_a_profile_is_the_public_view_even_of_oneself_and_more_for_admins(
    platform: MemoryPlatform, admin: Client
) -> None:
    player = platform.player("eve")
    user_id = player.get("/api/v1/users/me").data["id"]
    assert set(player.get(f"/api/v1/users/{user_id}").data) == USER_VIEW | {"place", "score"}
    assert set(admin.get(f"/api/v1/users/{user_id}").data) == ADMIN_VIEW | {"place", "score"}
    assert set(player.get("/api/v1/users/me").data) == SELF_VIEW | {"place", "score"}


@pytest.mark.parametrize("column", ["hidden", "banned"])
def test_hidden_and_banned_users_do_not_exist_for_players(platform: MemoryPlatform, admin: Client, column: str) -> None:
    user_id = made(platform, a_user, **{column: True})
    unknown = platform.client().get("/api/v1/users/999")
    for path in ("", "/solves", "/fails", "/awards"):
        reply = platform.client().get(f"/api/v1/users/{user_id}{path}")
        assert (reply.status, reply.body) == (404, unknown.body)
        assert admin.get(f"/api/v1/users/{user_id}{path}").status == 200


def test_a_hidden_team_is_not_named_by_its_members(platform: MemoryPlatform, admin: Client) -> None:
    team_id = made(platform, a_team, hidden=True)
    user_id = made(platform, a_user, team_id=team_id)
    assert platform.client().get(f"/api/v1/users/{user_id}").data["team_id"] is None
    assert platform.client().get("/api/v1/users").data[0]["team_id"] is None
    assert admin.get(f"/api/v1/users/{user_id}").data["team_id"] == team_id
    assert admin.get("/api/v1/users").data[0]["team_id"] == team_id


def test_a_hidden_team_is_told_by_no_award_and_no_score_of_its_members(platform: MemoryPlatform, admin: Client) -> None:
    platform.configure(user_mode="teams")
    team_id = made(platform, a_team, hidden=True)
    user_id = made(platform, a_user, team_id=team_id)
    made(platform, an_award, user_id, 20, team_id=team_id)
    made(platform, an_award, made(platform, a_user, team_id=team_id), 700, team_id=team_id)
    path = f"/api/v1/users/{user_id}"
    (award,) = platform.client().get(f"{path}/awards").data
    assert (award["user_id"], award["team_id"], award["team"]) == (user_id, None, None)
    assert platform.client().get(path).data["score"] == 20
    assert admin.get(f"{path}/awards").data[0]["team"] == team_id
    assert admin.get(path).data["score"] == 720


def test_custom_fields_are_shown_to_whom_they_are_for(platform: MemoryPlatform, admin: Client) -> None:
    ids = {
        name: made(platform, a_field, name=name, public="public" in name, editable="editable" in name)
        for name in ("public", "editable", "private")
    }
    of_teams = made(platform, a_field, type="team")
    player = platform.player("eve")
    user_id = player.get("/api/v1/users/me").data["id"]
    answers = [{"field_id": field_id, "value": name} for name, field_id in ids.items()]
    assert admin.patch(f"/api/v1/users/{user_id}", {"fields": answers}).status == 200

    def shown(client: Client, path: str) -> list[str]:
        data = client.get(path).data
        return [entry["value"] for entry in (data[-1] if isinstance(data, list) else data)["fields"]]

    assert shown(platform.client(), f"/api/v1/users/{user_id}") == ["public"]
    assert shown(platform.client(), "/api/v1/users") == ["public"]
    assert shown(player, "/api/v1/users/me") == ["public", "editable"]
    assert shown(admin, f"/api/v1/users/{user_id}") == ["public", "editable", "private"]
    entry = admin.get(f"/api/v1/users/{user_id}").data["fields"][0]
    assert entry == {
        "field_id": ids["public"], "value": "public", "name": "public", "description": "d", "type": "text",
    }  # fmt: skip
    for unknown in (999, of_teams):
        assert admin.patch(f"/api/v1/users/{user_id}", {"fields": [{"field_id": unknown, "value": 1}]}).status == 404
    # What is not mentioned is kept, and an answer is replaced.
    admin.patch(f"/api/v1/users/{user_id}", {"fields": [{"field_id": ids["public"], "value": True}]})
    assert shown(admin, f"/api/v1/users/{user_id}") == [True, "editable", "private"]
    assert len(platform.run(lambda conn: conn.execute(select(field_entries)).all())) == 3


def test_account_visibility_closes_lists_and_profiles(platform: MemoryPlatform, admin: Client) -> None:
    player = platform.player("eve")
    platform.configure(account_visibility="private")
    assert platform.client().get("/api/v1/users").location.startswith("/login?next=")
    assert platform.client().get("/api/v1/users", content_type="application/json").status == 403
    assert player.get("/api/v1/users").status == 200
    platform.configure(account_visibility="admins")
    assert player.get("/api/v1/users").status == player.get("/api/v1/users/1").status == 404
    assert admin.get("/api/v1/users").status == 200


def scored(platform: MemoryPlatform) -> tuple[int, int]:
    """Two players, the first with 150 points of which 50 came late."""

    def build(conn: Connection) -> tuple[int, int]:
        first, second = a_user(conn), a_user(conn)
        challenge = a_challenge(conn)
        a_solve(conn, challenge, first, date=platform.now)
        a_solve(conn, challenge, second, date=platform.now + timedelta(seconds=5))
        an_award(conn, first, 50, date=platform.now + timedelta(minutes=2))
        touch(conn, EVERYTHING)
        return first, second

    return platform.run(build)  # type: ignore[no-any-return]


def test_place_and_score_stand_still_at_the_freeze_for_all_but_oneself(platform: MemoryPlatform, admin: Client) -> None:
    first, second = scored(platform)
    client = platform.client()
    assert client.get(f"/api/v1/users/{first}").data["score"] == 150
    assert client.get(f"/api/v1/users/{second}").data["place"] == "2nd"
    platform.configure(freeze=int(platform.now.timestamp()) + 60)
    assert client.get(f"/api/v1/users/{first}").data["score"] == 100
    assert admin.get(f"/api/v1/users/{first}").data["score"] == 100
    platform.configure(score_visibility="hidden")
    for asker in (client, admin):
        data = asker.get(f"/api/v1/users/{first}").data
        assert (data["place"], data["score"]) == (None, None)


def test_solves_fails_and_awards_obey_the_freeze_and_hide_fails(platform: MemoryPlatform, admin: Client) -> None:
    first, _ = scored(platform)
    challenge = made(platform, a_challenge, name="other")
    made(platform, a_submission, challenge, first, date=platform.now)
    made(platform, a_submission, challenge, first, type="partial", date=platform.now)
    client = platform.client()
    solves = client.get(f"/api/v1/users/{first}/solves")
    assert solves.json["meta"] == {"count": 1}
    assert set(solves.data[0]) == {"id", "challenge_id", "challenge", "user", "team", "date", "type"}
    assert set(solves.data[0]["challenge"]) == {"id", "name", "category", "value"}
    assert (solves.data[0]["user"]["id"], solves.data[0]["team"], solves.data[0]["type"]) == (first, None, "correct")
    fails = client.get(f"/api/v1/users/{first}/fails")
    assert (fails.data, fails.json["meta"]) == ([], {"count": 1})
    for_admin = admin.get(f"/api/v1/users/{first}/fails").data
    assert (for_admin[0]["provided"], for_admin[0]["ip"]) == ("flag{wrong}", "203.0.113.7")
    awards = client.get(f"/api/v1/users/{first}/awards")
    assert set(awards.data[0]) == {
        "id", "user_id", "user", "team_id", "team", "name", "description", "category", "value", "date", "icon",
    }  # fmt: skip
    assert "requirements" in admin.get(f"/api/v1/users/{first}/awards").data[0]
    platform.configure(freeze=int(platform.now.timestamp()) + 60)
    assert client.get(f"/api/v1/users/{first}/awards").json["meta"] == {"count": 0}
    assert admin.get(f"/api/v1/users/{first}/awards").json["meta"] == {"count": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"state": "hidden"},
        {"state": "locked"},
        {"scheduled_at": "later"},
        {"requirements": {"prerequisites": ["another"]}},
        {"requirements": {"prerequisites": ["another"], "anonymize": True}},
    ],
)
def test_a_solve_tells_nobody_of_a_hidden_challenge(
    platform: MemoryPlatform, admin: Client, change: dict[str, Any]
) -> None:
    if "scheduled_at" in change:
        change = {"scheduled_at": platform.now + timedelta(hours=1)}
    if "requirements" in change:
        change["requirements"]["prerequisites"] = [made(platform, a_challenge)]
    challenge = made(platform, a_challenge, **change)
    player = platform.player("eve")
    user_id = player.get("/api/v1/users/me").data["id"]
    made(platform, a_solve, challenge, user_id)
    assert platform.client().get(f"/api/v1/users/{user_id}/solves").json == {
        "success": True, "data": [], "meta": {"count": 0},
    }  # fmt: skip
    assert len(admin.get(f"/api/v1/users/{user_id}/solves").data) == 1
    assert len(player.get("/api/v1/users/me/solves").data) == 1


def test_a_solve_tells_of_a_challenge_whose_name_is_shown_before_it_opens(platform: MemoryPlatform) -> None:
    needs = {"prerequisites": [made(platform, a_challenge)], "anonymize": "preview"}
    solver = made(platform, a_user)
    made(platform, a_solve, made(platform, a_challenge, name="shown", requirements=needs), solver)
    assert platform.client().get(f"/api/v1/users/{solver}/solves").data[0]["challenge"]["name"] == "shown"


def test_an_award_tells_nobody_of_a_hidden_challenge(platform: MemoryPlatform, admin: Client) -> None:
    ann = platform.player("ann")
    user_id = ann.get("/api/v1/users/me").data["id"]

    def live(conn: Connection) -> list[int]:
        touch(conn, EVERYTHING)
        hill, quiz = a_hill(conn, name="The hill"), a_challenge(conn, name="The quiz")
        hint = a_hint(conn, quiz)
        an_award(conn, user_id, -5, category="hints", name=f"Hint {hint}", description="Hint for The quiz")
        tick = {"challenge_id": hill, "tick": 1, "due": platform.now, "outcome": "held", "points": 10}
        award = give_award(conn, "The hill", "koth", {**tick, "user_id": user_id, "team_id": None})
        insert_row(conn, ticks, {**tick, "award_id": award})
        an_award(conn, user_id, 3, name="for kindness", category="misc")
        return [hill, quiz]

    def words(client: Client) -> list[tuple[str | None, ...]]:
        shown = sorted(client.get(f"/api/v1/users/{user_id}/awards").data, key=lambda award: award["value"])
        return [(award["name"], award["description"], award["category"]) for award in shown]

    challenges = platform.run(live)
    every = [("Hint 1", "Hint for The quiz", "hints"), ("for kindness", None, "misc"), ("The hill", "Tick 1", "koth")]
    assert words(platform.client()) == words(admin) == every
    for challenge in challenges:
        admin.patch(f"/api/v1/challenges/{challenge}", {"state": "hidden"})
    nothing = (None, None, None)
    assert words(platform.client()) == words(platform.player("eve")) == [nothing, every[1], nothing]
    assert words(admin) == every
    for challenge in challenges:
        admin.patch(f"/api/v1/challenges/{challenge}", {"state": "visible"})
    admin.delete("/api/v1/hints/1")  # from here on nothing says which challenge the award is about
    assert words(platform.client()) == [nothing, *every[1:]]
    assert [award["name"] for award in ann.get("/api/v1/users/me/awards").data].count(None) == 0


def test_a_module_that_some_team_sees_is_closed_to_who_has_none(platform: MemoryPlatform) -> None:
    def closed(conn: Connection) -> int:
        module = insert_row(conn, modules, {"name": "module"})
        audience = insert_row(conn, audiences, {"name": "audience", "type": "standard"})
        insert_row(conn, module_audience_access, {"module_id": module, "audience_id": audience})
        insert_row(conn, audience_members, {"audience_id": audience, "team_id": a_team(conn)})
        return a_challenge(conn, module_id=module)

    solver = made(platform, a_user)
    made(platform, a_solve, made(platform, closed), solver)
    assert platform.client().get(f"/api/v1/users/{solver}/solves").data == []


def test_score_visibility_closes_solves(platform: MemoryPlatform, admin: Client) -> None:
    first, _ = scored(platform)
    platform.configure(score_visibility="hidden")
    assert platform.client().get(f"/api/v1/users/{first}/solves", content_type="application/json").status == 403
    assert admin.get(f"/api/v1/users/{first}/solves").status == 200
    platform.configure(score_visibility="admins")
    assert platform.client().get(f"/api/v1/users/{first}/solves").status == 404


def test_hiding_somebody_moves_the_values_of_what_they_solved(platform: MemoryPlatform, admin: Client) -> None:
    challenge = made(platform, a_challenge, dynamic={"initial": 500, "minimum": 100, "decay": 10}, value=480)
    ids = [made(platform, a_user) for _ in range(3)]
    for user_id in ids:
        made(platform, a_solve, challenge, user_id)

    def value() -> int:
        return int(platform.client().get(f"/api/v1/users/{ids[2]}/solves").data[0]["challenge"]["value"])

    admin.patch(f"/api/v1/users/{ids[0]}", {"hidden": True})
    assert value() == 496  # two solves count
    admin.patch(f"/api/v1/users/{ids[0]}", {"hidden": False})
    assert value() == 484
    admin.delete(f"/api/v1/users/{ids[0]}", {})
    assert value() == 496


@pytest.mark.parametrize("number", [2**31, 2**63, 2**70])
def test_a_number_that_no_database_holds_names_nobody(admin: Client, number: int) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        assert admin.request(method, f"/api/v1/users/{number}", json={}).status == 404
    assert admin.get(f"/api/v1/tokens/{number}").status == 404
    assert admin.get(f"/api/v1/users?bracket={number}").data == []
    for wrong in ({"bracket_id": number}, {"fields": [{"field_id": number, "value": 1}]}):
        raw = json.dumps({**BOB, **wrong}).encode()
        assert admin.request("POST", "/api/v1/users", data=raw, content_type="application/json").status == 400


def test_a_malformed_body_changes_nothing(platform: MemoryPlatform, admin: Client) -> None:
    reply = admin.request("POST", "/api/v1/users", data=b"{", content_type="application/json")
    assert reply.status == 500
    assert reply.json["message"] == "Internal Server Error"
    assert len(platform.run(lambda conn: conn.execute(select(users.c.id)).all())) == 1
