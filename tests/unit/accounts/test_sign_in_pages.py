"""Setting up, signing in and out, and registering, as browsers do it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import brackets, field_entries, fields, tracking, users
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.tables import pages
from ctfd_twisted.db.behind import TOGETHER
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.webhooks.tables import events

SignUp = Callable[..., Client]
ME = "/api/v1/users/me"
JSON = {"content_type": "application/json"}
SETUP = {"ctf_name": "My CTF", "name": "admin", "email": "admin@example.org", "password": "secret"}
NEW = {"name": "eve", "email": "eve@example.org", "password": "secret"}


def alerts(reply: Reply) -> list[str]:
    return re.findall(r'alert-danger" role="alert"><span>(.*?)</span>', reply.text)


def made(platform: MemoryPlatform, table: Any, **values: Any) -> int:
    def make(conn: Any) -> int:
        touch(conn, EVERYTHING)
        return insert_row(conn, table, values)

    return int(platform.run(make))


def config(platform: MemoryPlatform, key: str) -> object:
    return platform.run(read_competition).get(key)


# Setup


@pytest.fixture
def fresh() -> Any:
    platform = MemoryPlatform()
    yield platform
    platform.close()


def test_before_setup_everything_leads_there(fresh: MemoryPlatform) -> None:
    for path in ("/", "/login", ME, "/register"):
        assert fresh.client().get(path).location == "/setup"


def test_the_smallest_setup_works(fresh: MemoryPlatform) -> None:
    browser = fresh.client()
    reply = browser.submit("/setup", **SETUP)
    assert (reply.status, reply.location) == (302, "/")
    assert browser.get(ME, **JSON).data["name"] == "admin"
    row = fresh.run(lambda conn: conn.execute(select(users)).one())
    assert (row.type, row.hidden, row.verified) == ("admin", True, False)
    assert fresh.run(lambda conn: conn.scalar(select(pages.c.title).where(pages.c.route == "index"))) == "My CTF"
    assert (config(fresh, "user_mode"), config(fresh, "challenge_visibility")) == ("users", "private")
    assert browser.get("/setup").location == "/"
    assert browser.submit("/setup", **SETUP).location == "/"
    assert len(fresh.run(lambda conn: conn.execute(select(users)).all())) == 1


def test_every_field_of_the_setup_is_stored(fresh: MemoryPlatform) -> None:
    chosen = {
        "ctf_description": "d", "user_mode": "teams", "challenge_visibility": "public", "account_visibility": "private",
        "score_visibility": "hidden", "registration_visibility": "private", "verify_emails": "true",
        "social_shares": "false", "team_size": "4", "start": "1700000000", "end": "", "theme_color": "#12abEF",
    }  # fmt: skip
    assert fresh.client().submit("/setup", **SETUP, **chosen).status == 302
    for key in ("ctf_description", "user_mode", "challenge_visibility", "account_visibility", "score_visibility"):
        assert config(fresh, key) == chosen[key]
    assert (config(fresh, "verify_emails"), config(fresh, "social_shares")) == (True, False)
    assert (config(fresh, "team_size"), config(fresh, "start"), config(fresh, "end")) == (4, 1700000000, None)
    assert "--theme-color: #12abEF;" in str(config(fresh, "theme_header"))
    assert config(fresh, "mail_server") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"email": "x"}, "Please enter a valid email address"),
        ({"name": "a@b.co"}, "Your user name cannot be an email address"),
        ({"name": " "}, "Pick a longer user name"),
        ({"password": " "}, "Pick a longer password"),
        ({"password": "x" * 129}, "Pick a shorter password"),
        ({"challenge_visibility": "x"}, "Please choose a valid challenge visibility"),
        ({"user_mode": "x"}, "Please choose a valid user mode"),
        ({"start": "soon"}, "Please give the start as Unix time in seconds"),
        ({"theme_color": "red;} body {display: none"}, "Please choose a valid theme color"),
    ],
)
def test_a_wrong_setup_stores_nothing(fresh: MemoryPlatform, change: dict[str, str], message: str) -> None:
    reply = fresh.client().submit("/setup", **{**SETUP, **change})
    assert (reply.status, alerts(reply)) == (200, [message])
    assert fresh.run(lambda conn: conn.execute(select(users)).all()) == []
    assert config(fresh, "ctf_name") == "CTFd"


def test_a_setup_without_an_account_is_no_request(fresh: MemoryPlatform) -> None:
    assert fresh.client().submit("/setup", ctf_name="x").status == 400
    assert fresh.client().request("POST", "/setup", data=SETUP).status == 403


# Login


def test_signing_in_makes_a_new_session_and_a_new_nonce(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("bob")
    client = platform.client()
    before = (client.nonce, client.cookies["session"])
    assert client.submit("/login", name="bob", password="secret").location == "/challenges"
    after = (client.nonce, client.cookies["session"])
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert client.get(ME, **JSON).data["name"] == "bob"


@pytest.mark.parametrize("name", ["bob", " bob ", "bob@example.org"])
def test_one_signs_in_by_name_or_address(platform: MemoryPlatform, browser: SignUp, name: str) -> None:
    browser("bob")
    assert platform.client().submit("/login", name=name, password="secret").status == 302


@pytest.mark.parametrize(("name", "password"), [("bob", "Secret"), ("nobody", "secret"), ("BOB@example.org", "secret")])
def test_what_is_wrong_is_not_told_apart(platform: MemoryPlatform, browser: SignUp, name: str, password: str) -> None:
    browser("bob")
    reply = platform.client().submit("/login", name=name, password=password)
    assert (reply.status, alerts(reply)) == (200, ["Your username or password is incorrect"])


def test_an_account_without_a_password_is_sent_to_its_provider(platform: MemoryPlatform) -> None:
    platform.player("oauth")
    reply = platform.client().submit("/login", name="oauth", password="x")
    assert alerts(reply)[0].startswith("Your account was registered with a 3rd party authentication provider.")


def test_a_login_needs_both_keys_and_the_nonce(platform: MemoryPlatform) -> None:
    assert platform.client().submit("/login", name="bob").status == 400
    assert platform.client().submit("/login", password="x").status == 400
    assert platform.client().request("POST", "/login", data={"name": "bob", "password": "x"}).status == 403


def test_a_signed_in_visitor_still_sees_the_form(browser: SignUp) -> None:
    assert browser("bob").get("/login").status == 200


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/scoreboard?a=b", "/scoreboard?a=b"),
        ("//evil.org", "/challenges"),
        ("javascript:x", "/challenges"),
        ("", "/challenges"),
    ],
)
def test_one_is_sent_on_to_safe_places_only(
    platform: MemoryPlatform, browser: SignUp, target: str, location: str
) -> None:
    browser("bob")
    client = platform.client()
    data = {"nonce": client.nonce, "name": "bob", "password": "secret"}
    reply = client.request("POST", "/login", data=data, params={"next": target})
    assert reply.location == location


def test_the_eleventh_login_in_five_seconds_waits(platform: MemoryPlatform) -> None:
    client = platform.client()
    for _ in range(10):
        assert client.submit("/login", name="x", password="x").status == 200
    reply = client.submit("/login", name="x", password="x")
    assert reply.status == 429
    assert reply.headers["retry-after"] == "6"
    platform.clock.advance(6)
    assert client.submit("/login", name="x", password="x").status == 200


def test_a_banned_user_signs_in_and_sees_only_that(platform: MemoryPlatform, admin: Client, browser: SignUp) -> None:
    user_id = browser("bob").get(ME, **JSON).data["id"]
    admin.patch(f"/api/v1/users/{user_id}", {"banned": True})
    client = platform.client()
    assert client.submit("/login", name="bob", password="secret").status == 302
    for path in ("/challenges", ME, "/logout"):
        reply = client.get(path)
        assert reply.status == 403
        assert "You have been banned from this CTF" in reply.text


def test_signing_out_ends_the_session_itself(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    kept = dict(bob.cookies)
    assert bob.get("/logout").location == "/"
    assert "session" not in bob.cookies
    bob.cookies = kept
    assert bob.get(ME, **JSON).status == 403
    assert platform.client().get("/logout").location == "/"
    assert platform.run(lambda conn: conn.execute(select(sessions)).all()) == []


def test_signing_in_replaces_the_session_one_came_with(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    old = dict(bob.cookies)
    bob.submit("/login", name="bob", password="secret")
    assert len(platform.run(lambda conn: conn.execute(select(sessions)).all())) == 1
    bob.cookies = old
    assert bob.get(ME, **JSON).status == 403


# Registration


def test_registering_signs_in_and_tells(platform: MemoryPlatform) -> None:
    client = platform.client()
    before = client.nonce
    reply = client.submit(
        "/register", name=" eve ", email=" EVE@Example.org ", password=" secret ", website="", country="DE"
    )
    assert reply.location == "/challenges"
    assert client.nonce != before
    data = client.get(ME, **JSON).data
    assert (data["name"], data["email"], data["website"], data["country"]) == ("eve", "eve@example.org", None, "DE")
    assert platform.client().submit("/login", name="eve", password="secret").status == 302
    assert platform.run(lambda conn: conn.execute(select(events.c.event)).scalars().all()) == ["user.created"]
    assert client.get("/register").location == "/challenges"


def test_in_teams_mode_one_goes_on_to_the_team(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    assert platform.client().submit("/register", **NEW).location == "/team"


def test_a_registration_is_sent_on_to_a_safe_place(platform: MemoryPlatform) -> None:
    client = platform.client()
    data = {"nonce": client.nonce, **NEW}
    assert client.request("POST", "/register", data=data, params={"next": "/teams/invite?code=x"}).location == (
        "/teams/invite?code=x"
    )


@pytest.mark.parametrize("visibility", ["private", "mlc"])
def test_a_closed_registration_is_not_there(platform: MemoryPlatform, visibility: str) -> None:
    platform.configure(registration_visibility=visibility)
    assert platform.client().get("/register").status == 404
    assert platform.client().submit("/register", **NEW).status == 404


def test_a_full_competition_takes_nobody(platform: MemoryPlatform) -> None:
    platform.configure(num_users=1)
    assert platform.client().submit("/register", **NEW).status == 302
    reply = platform.client().get("/register")
    assert reply.status == 403
    assert "Reached the maximum number of users (1)." in reply.text
    assert platform.client().submit("/register", name="x", email="x@y.co", password="x").status == 403


def test_every_problem_is_listed_in_order(platform: MemoryPlatform) -> None:
    made(platform, fields, name="must", type="user", field_type="text", description="", required=True)
    platform.client().submit("/register", **NEW, **{"fields[1]": "x"})
    platform.configure(
        registration_code="Sesame", domain_whitelist="good.org", domain_blacklist="example.org", password_min_length=9
    )
    made(platform, brackets, name="b", description=None, type="users")
    reply = platform.client().submit(
        "/register", name="eve", email="eve@example.org", password="", website="x", country="QQ",
        affiliation="x" * 128, bracket_id="77", registration_code="no",
    )  # fmt: skip
    assert alerts(reply) == [
        "The registration code you entered was incorrect",
        "Please provide all required fields",
        "Your email address is not from an allowed domain",
        "Your email address is not from an allowed domain",
        "That user name is already taken",
        "That email has already been used",
        "Pick a longer password",
        "Password must be at least 9 characters",
        "Websites must be a proper URL starting with http or https",
        "Invalid country",
        "Please provide a shorter affiliation",
        "Please provide a valid bracket",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"email": "x"}, "Please enter a valid email address"),
        ({"email": "x@" + "y" * 320 + ".co"}, "Please enter a valid email address"),
        ({"name": "a@b.co"}, "Your user name cannot be an email address"),
        ({"name": ""}, "Pick a longer user name"),
        ({"name": "x" * 129}, "Pick a shorter user name"),
        ({"password": "x" * 129}, "Pick a shorter password"),
    ],
)
def test_a_problem_keeps_what_was_typed(platform: MemoryPlatform, change: dict[str, str], message: str) -> None:
    reply = platform.client().submit("/register", **{**NEW, "email": "e@x.co", **change})
    assert (reply.status, alerts(reply)) == (200, [message])
    assert f'value="{change.get("name", "eve")}"' in reply.text


def test_the_code_is_compared_in_any_case(platform: MemoryPlatform) -> None:
    platform.configure(registration_code="SeSame")
    assert platform.client().submit("/register", **NEW, registration_code="sesame").status == 302


def test_answers_are_stored_to_every_field(platform: MemoryPlatform) -> None:
    plain: dict[str, Any] = {"type": "user", "description": "", "required": False, "public": True, "editable": True}
    for name, kind in (("text", "text"), ("empty", "text"), ("tick", "boolean"), ("untick", "boolean")):
        made(platform, fields, name=name, field_type=kind, **plain)
    answers = {"fields[1]": " x ", "fields[3]": "y", "fields[99]": "z", "fields[x]": "z"}
    assert platform.client().submit("/register", **NEW, **answers).status == 302
    values = platform.run(lambda conn: conn.execute(select(field_entries).order_by(field_entries.c.field_id)).all())
    assert [row.value for row in values] == ["x", "", True, False]


def test_a_bracket_must_be_chosen_where_there_are_some(platform: MemoryPlatform) -> None:
    bracket = made(platform, brackets, name="b", description=None, type="users")
    assert alerts(platform.client().submit("/register", **NEW)) == ["Please provide a valid bracket"]
    assert platform.client().submit("/register", **NEW, bracket_id=str(bracket)).status == 302


def test_an_address_is_tracked(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    came = platform.now
    bob.get(ME, **JSON)
    platform.clock.advance(TOGETHER)

    def rows() -> list[Any]:
        wanted = select(tracking).join(users, users.c.id == tracking.c.user_id).where(users.c.name == "bob")
        return list(platform.run(lambda conn: conn.execute(wanted).all()))

    assert [row.date for row in rows()] == [came]
    platform.clock.advance(60)
    bob.get(ME, **JSON)
    platform.clock.advance(TOGETHER)
    assert [row.date for row in rows()] == [came]
    wrote = platform.now
    bob.patch(ME, {})
    platform.clock.advance(TOGETHER)
    assert [(row.type, row.target, row.date) for row in rows()] == [(None, None, wrote)]
    platform.clock.advance(3600)
    came = platform.now
    bob.get(ME, **JSON)
    platform.clock.advance(TOGETHER)
    assert [row.date for row in rows()] == [came]
