"""``/api/v1/users/me``: what players may change, what they are asked for, and where they are signed in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.accounts.sessions import record_seen
from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import brackets, fields, teams, users
from ctfd_twisted.db.behind import TOGETHER
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_submission, a_team, a_user, an_award

SignUp = Callable[..., Client]
ME = "/api/v1/users/me"
JSON = {"content_type": "application/json"}


def store(platform: MemoryPlatform, fn: Callable[[Connection], Any]) -> Any:
    def run(conn: Connection) -> Any:
        touch(conn, EVERYTHING)
        return fn(conn)

    return platform.run(run)


def errors(client: Client, change: dict[str, Any]) -> Any:
    reply = client.patch(ME, change)
    assert reply.status == 400, reply.body
    return reply.errors


def test_nobody_is_nobody(platform: MemoryPlatform) -> None:
    assert platform.client().get(ME, **JSON).status == 403
    assert platform.client().get(ME).location == "/login?next=%2Fapi%2Fv1%2Fusers%2Fme%3F"


def test_plain_values_change_without_confirmation(browser: SignUp) -> None:
    bob = browser("bob")
    change = {"affiliation": "A", "website": "https://a.co", "country": "GB", "language": "de", "name": "Bob"}
    data = bob.patch(ME, change).data
    assert {key: data[key] for key in change} == change
    assert "place" not in data
    cleared = bob.patch(ME, {"website": "", "country": None, "language": ""}).data
    assert (cleared["website"], cleared["country"], cleared["language"]) == ("", None, "")


def test_what_only_admins_may_write_is_ignored(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    forbidden = {"type": "admin", "verified": "?", "banned": True, "hidden": True, "team_id": 1, "secret": 5, "id": 9}
    assert bob.patch(ME, forbidden).status == 200
    row = platform.run(lambda conn: conn.execute(users.select().where(users.c.name == "bob")).mappings().first())
    assert (row["type"], row["verified"], row["banned"], row["hidden"], row["team_id"], row["secret"]) == (
        "user", True, False, False, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"email": "b@new.org"}, {"confirm": ["Please confirm your current password"]}),
        ({"email": "b@new.org", "confirm": "x"}, {"confirm": ["Your previous password is incorrect"]}),
        ({"email": "eve@example.org", "confirm": "secret"}, {"email": ["Email address has already been used"]}),
        ({"email": "b@bad.org", "confirm": "secret"}, {"email": ["Email address is not from an allowed domain"]}),
        ({"password": "longer"}, {"confirm": ["Please confirm your current password"]}),
        ({"password": "longer", "confirm": "x"}, {"confirm": ["Your previous password is incorrect"]}),
        ({"password": "x"}, {"confirm": ["Please confirm your current password"]}),
        ({"password": "x", "confirm": "secret"}, {"password": ["Password must be at least 4 characters"]}),
        ({"password": "x", "confirm": "x"}, {"password": ["Password must be at least 4 characters"]}),
        ({"password": None}, {"password": ["Field may not be null."]}),
        ({"name": " eve "}, {"name": ["User name has already been taken"]}),
        ({"name": ""}, {"name": ["User names must not be empty"]}),
        ({"website": "x"}, {"website": ["Websites must be a proper URL starting with http or https"]}),
        ({"country": "QQ"}, {"country": ["Invalid Country"]}),
        ({"bracket_id": 99}, {"bracket_id": ["Please provide a valid bracket id"]}),
        # Bracket, e-mail, fields, name, confirmation: the first alone; then the faults of form.
        ({"name": "eve", "password": "longer"}, {"name": ["User name has already been taken"]}),
        ({"password": "longer", "country": "QQ"}, {"confirm": ["Please confirm your current password"]}),
    ],
)
def test_a_wrong_change_is_named(
    platform: MemoryPlatform, browser: SignUp, change: dict[str, Any], expected: dict[str, Any]
) -> None:
    bob = browser("bob")
    browser("eve")
    platform.configure(password_min_length=4, domain_blacklist="bad.org")
    assert errors(bob, change) == expected


def test_an_unchanged_name_and_address_ask_for_nothing(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    platform.configure(name_changes=False, domain_whitelist="elsewhere.org")
    assert bob.patch(ME, {"name": "bob", "email": "bob@example.org"}).status == 200
    assert errors(bob, {"name": "bobby"}) == {"name": ["Name changes are disabled"]}
    eve = browser(" eve ", email="eve@example.org")
    assert eve.patch(ME, {"name": " eve "}).data["name"] == " eve "


def test_a_new_address_must_be_verified_again_where_that_is_asked(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    assert bob.patch(ME, {"email": "b2@example.org", "confirm": "secret"}).data["email"] == "b2@example.org"
    platform.configure(verify_emails=True)
    bob.patch(ME, {"email": "b3@example.org", "confirm": "secret"})
    row = platform.run(lambda conn: conn.execute(users.select().where(users.c.name == "bob")).mappings().first())
    assert (row["email"], row["verified"]) == ("b3@example.org", False)


def test_a_new_password_ends_every_session_but_the_one_that_changed_it(
    platform: MemoryPlatform, browser: SignUp
) -> None:
    bob = browser("bob")
    elsewhere = platform.client()
    elsewhere.submit("/login", name="bob", password="secret")
    assert elsewhere.get(ME, **JSON).status == 200
    reply = bob.patch(ME, {"password": "changed", "confirm": "secret"})
    assert reply.status == 200
    assert reply.headers["set-cookie"].startswith("session=s.")
    assert bob.get(ME, **JSON).status == 200
    assert [session["current"] for session in bob.get(f"{ME}/sessions", **JSON).data] == [True]
    stale = elsewhere.get(ME, **JSON)
    assert stale.status == 401
    assert stale.json["message"].startswith("The server could not verify that you are authorized")
    assert elsewhere.get(ME, **JSON).status == 403  # the cookie went with the answer
    for password, ok in (("secret", False), ("changed", True)):
        assert (platform.client().submit("/login", name="bob", password=password).status == 302) is ok


def test_a_stale_session_of_a_page_goes_to_the_login(admin: Client, browser: SignUp) -> None:
    bob = browser("bob")
    user_id = bob.get(ME, **JSON).data["id"]
    admin.patch(f"/api/v1/users/{user_id}", {"password": "set by admin"})
    assert bob.get("/themes/core/static/js/theme.js").status == 200  # what a page loads is nobody's
    assert bob.get("/settings").location == "/login?next=%2Fsettings%3F"


@pytest.mark.parametrize("path", ["/login", "/reset_password", "/confirm/x", "/register", "/"])
def test_a_stale_session_keeps_nobody_from_what_is_open_to_all(
    platform: MemoryPlatform, admin: Client, browser: SignUp, path: str
) -> None:
    bob, visitor = browser("bob"), platform.client()
    admin.patch(f"/api/v1/users/{bob.get(ME, **JSON).data['id']}", {"password": "set by admin"})
    shown, expected = bob.get(path), visitor.get(path)
    assert (shown.status, shown.headers.get("location")) == (expected.status, expected.headers.get("location"))
    assert bob.get(ME, **JSON).status == 403  # the cookie went with the answer


def test_a_stale_session_leads_nobody_from_the_login_straight_out_again(admin: Client, browser: SignUp) -> None:
    bob = browser("bob")
    admin.patch(f"/api/v1/users/{bob.get(ME, **JSON).data['id']}", {"password": "set by admin"})
    assert bob.get("/logout").location == "/"


def test_an_empty_password_is_dropped(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    assert bob.patch(ME, {"password": "", "confirm": "secret", "affiliation": "A"}).status == 200
    assert platform.client().submit("/login", name="bob", password="secret").status == 302


def test_an_empty_password_does_not_open_an_admins_own_account(platform: MemoryPlatform, browser: SignUp) -> None:
    root = browser("root", type="admin")
    assert root.patch(ME, {"password": "", "affiliation": "A"}).data["affiliation"] == "A"
    assert platform.client().submit("/login", name="root", password="").status == 200
    assert platform.client().submit("/login", name="root", password="secret").status == 302


def test_capitals_are_no_way_around_a_list_of_domains(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    platform.configure(domain_blacklist="bad.org")
    wrong = {"email": ["Email address is not from an allowed domain"]}
    assert errors(bob, {"email": "bob@BAD.org", "confirm": "secret"}) == wrong


def test_an_account_without_a_password_sets_one_without_confirmation(platform: MemoryPlatform) -> None:
    player = platform.player("oauth")
    platform.configure(password_min_length=4)
    assert errors(player, {"password": "x"}) == {"password": ["Password must be at least 4 characters"]}
    assert player.patch(ME, {"password": "first"}).status == 200
    assert platform.client().submit("/login", name="oauth", password="first").status == 302
    assert errors(player, {"password": "second"}) == {"confirm": ["Please confirm your current password"]}


def test_an_admin_changes_themselves_without_confirmation(platform: MemoryPlatform, admin: Client) -> None:
    platform.configure(name_changes=False, password_min_length=9, domain_blacklist="bad.org", verify_emails=True)
    assert admin.patch(ME, {"name": "boss", "email": "x@bad.org", "password": "p"}).data["name"] == "boss"
    assert platform.client().submit("/login", name="boss", password="p").status == 302
    platform.player("eve")
    assert errors(admin, {"name": "eve"}) == {"name": ["User name has already been taken"]}


def test_a_bracket_is_chosen_once(platform: MemoryPlatform, browser: SignUp) -> None:
    def some(conn: Connection) -> list[int]:
        return [
            insert_row(conn, brackets, {"name": name, "description": None, "type": of})
            for name, of in (("a", "users"), ("b", "users"), ("c", "teams"))
        ]

    first, second, of_teams = store(platform, some)
    bob = browser("bob")
    assert errors(bob, {"bracket_id": of_teams}) == {"bracket_id": ["Please provide a valid bracket id"]}
    assert bob.patch(ME, {"bracket_id": first}).data["bracket_id"] == first
    assert bob.patch(ME, {"bracket_id": first}).status == 200
    for other in (second, None):
        assert errors(bob, {"bracket_id": other}) == {"bracket_id": ["Please contact an admin to change your bracket"]}


def test_fields_are_answered_within_their_rules(platform: MemoryPlatform, browser: SignUp) -> None:
    def some(conn: Connection) -> list[int]:
        values = {"type": "user", "field_type": "text", "description": "", "public": True}
        return [
            insert_row(conn, fields, {**values, "name": name, "required": required, "editable": editable})
            for name, required, editable in (("must", True, True), ("once", False, False))
        ]

    must, once = store(platform, some)
    bob = browser("bob")

    def answer(field_id: int, value: object) -> dict[str, Any]:
        return {"fields": [{"field_id": field_id, "value": value}]}

    assert errors(bob, answer(must, " ")) == {"fields": ["Field 'must' is required"]}
    assert bob.patch(ME, answer(must, "x")).data["fields"][0]["value"] == "x"
    assert bob.patch(ME, answer(once, "y")).status == 200
    assert errors(bob, answer(once, "z")) == {"fields": ["Field 'once' cannot be editted"]}
    assert bob.patch(ME, answer(99, "x")).status == 404


def test_ones_own_score_knows_no_freeze_and_the_place_is_among_users(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    player = platform.player("eve")
    me = player.get(ME).data["id"]

    def play(conn: Connection) -> None:
        team_id, mate = a_team(conn), a_user(conn)
        conn.execute(users.update().where(users.c.id.in_((me, mate))).values(team_id=team_id))
        easy, hard = a_challenge(conn), a_challenge(conn, value=300)
        a_solve(conn, easy, me, team_id=team_id, date=platform.now)
        a_solve(conn, hard, mate, team_id=team_id, date=platform.now)
        an_award(conn, me, 7, team_id=team_id, date=platform.now + timedelta(hours=1))

    store(platform, play)
    platform.configure(freeze=int(platform.now.timestamp()) + 60)
    data = player.get(ME).data
    assert (data["score"], data["place"]) == (107, "2nd")
    assert player.get(f"/api/v1/users/{me}").data["score"] == 400  # the team's, frozen
    assert player.get(f"/api/v1/users/{me}").data["place"] == "1st"
    platform.configure(score_visibility="hidden")
    data = player.get(ME).data
    assert (data["score"], data["place"]) == (107, None)


def test_own_solves_fails_and_awards_know_no_freeze(platform: MemoryPlatform) -> None:
    player = platform.player("eve")
    me = player.get(ME).data["id"]

    def play(conn: Connection) -> None:
        challenge = a_challenge(conn)
        a_submission(conn, challenge, me, date=platform.now)
        a_solve(conn, challenge, me, date=platform.now)
        an_award(conn, me, date=platform.now)

    store(platform, play)
    platform.configure(freeze=int(platform.now.timestamp()) - 60)
    assert player.get(f"{ME}/solves").json["meta"] == player.get(f"{ME}/awards").json["meta"] == {"count": 1}
    fails = player.get(f"{ME}/fails")
    assert (fails.data, fails.json["meta"]) == ([], {"count": 1})


def test_ones_submissions_are_shown_where_the_setting_says_so(platform: MemoryPlatform) -> None:
    player = platform.player("eve")
    me = player.get(ME).data["id"]

    def play(conn: Connection) -> tuple[int, int]:
        team_id, mate = a_team(conn), a_user(conn)
        conn.execute(users.update().where(users.c.id.in_((me, mate))).values(team_id=team_id))
        challenge = a_challenge(conn)
        for user_id, text in ((me, "mine"), (mate, "my mate's")):
            a_submission(conn, challenge, user_id, team_id=team_id, provided=text, date=platform.now)
        return challenge, team_id

    challenge, _ = store(platform, play)
    path = f"{ME}/submissions?challenge_id={challenge}"
    assert player.get(path).status == 403
    platform.configure(view_self_submissions=True)
    assert [deed["provided"] for deed in player.get(path).data] == ["mine"]
    assert "ip" not in player.get(path).data[0]
    assert player.get(f"{ME}/submissions").json == {"success": True, "data": [], "meta": {"count": 0}}
    assert player.get(f"{ME}/submissions?challenge_id=x").errors == {"challenge_id": "value is not a valid integer"}
    platform.configure(user_mode="teams")
    assert [deed["provided"] for deed in player.get(path).data] == ["my mate's", "mine"]


def test_sessions_are_listed_and_ended(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    platform.clock.advance(60)
    elsewhere = platform.client()
    elsewhere.submit("/login", name="bob", password="secret")
    found = bob.get(f"{ME}/sessions", **JSON).data
    assert [session["current"] for session in found] == [False, True]
    assert set(found[0]) == {"id", "created", "expires", "seen", "address", "user_agent", "current"}
    assert bob.delete(f"{ME}/sessions/{found[0]['id']}", {}).status == 200
    assert elsewhere.get(ME, **JSON).status == 403
    assert bob.delete(f"{ME}/sessions/{found[0]['id']}", {}).status == 404
    elsewhere.submit("/login", name="bob", password="secret")
    assert bob.delete(f"{ME}/sessions", {}).status == 200
    assert (elsewhere.get(ME, **JSON).status, bob.get(ME, **JSON).status) == (403, 200)


def test_admins_end_the_sessions_of_others(platform: MemoryPlatform, admin: Client, browser: SignUp) -> None:
    bob, eve = browser("bob"), platform.player("eve")
    user_id = bob.get(ME, **JSON).data["id"]
    assert len(admin.get(f"/api/v1/users/{user_id}/sessions").data) == 1
    assert eve.get(f"/api/v1/users/{user_id}/sessions").status == 403
    assert eve.delete(f"/api/v1/users/{user_id}/sessions", {}).status == 403
    assert admin.delete(f"/api/v1/users/{user_id}/sessions", {}).status == 200
    assert bob.get(ME, **JSON).status == 403


def test_a_session_lasts_seven_days_and_is_renewed_by_a_change_only(platform: MemoryPlatform, browser: SignUp) -> None:
    bob, eve = browser("bob"), browser("eve")
    platform.clock.advance(6 * 86_400)
    assert eve.get(ME, **JSON).status == 200
    assert bob.patch(ME, {"affiliation": "A"}).status == 200
    platform.clock.advance(86_400)
    assert eve.get(ME, **JSON).status == 403
    assert bob.get(ME, **JSON).status == 200


def test_the_database_holds_no_session_id(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    sid = bob.cookies["session"].rpartition(".")[0]
    row = platform.run(lambda conn: conn.execute(sessions.select()).mappings().one())
    assert sid not in str(dict(row))
    assert row["address"] == "192.168.1.1" or row["address"]


def test_a_session_is_seen_now_and_then(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    bob.get(ME, **JSON)
    platform.clock.advance(900)
    used = platform.now
    bob.get(ME, **JSON)
    platform.clock.advance(TOGETHER)
    assert platform.run(lambda conn: conn.scalar(sessions.select().with_only_columns(sessions.c.seen))) == used
    platform.run(record_seen, {"nobody's": platform.now})


def test_teams_are_untouched_by_ones_own_edits(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    store(platform, lambda conn: a_team(conn, name="T"))
    bob.patch(ME, {"name": "T"})
    assert platform.run(lambda conn: conn.execute(teams.select()).mappings().one())["name"] == "T"
