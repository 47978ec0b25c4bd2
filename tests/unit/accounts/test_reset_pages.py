"""A new password by a link: forced by ``change_password``, single use, and never by an access token alone."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.password_reset import find_owner, make_link, store_new_password
from ctfd_twisted.accounts.passwords import verify
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.http.site import mounted
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.testing import Client, MemoryPlatform, Reply

SignUp = Callable[..., Client]
ME = "/api/v1/users/me"
JSON = {"content_type": "application/json"}
INVALID = "Your reset link is invalid, please generate a new one"


def said(reply: Reply) -> list[str]:
    """The sentences above the form."""
    assert reply.status == 200, reply.body
    return [html.unescape(text) for text in re.findall(r'role="(?:alert|status)"><span>(.*?)</span>', reply.text)]


def has_form(reply: Reply) -> bool:
    return '<input id="password"' in reply.text


def sets(platform: MemoryPlatform, name: str, **columns: object) -> None:
    """Change a user in the database."""

    def store(conn: Any) -> None:
        touch(conn, EVERYTHING)
        conn.execute(update(users).where(users.c.name == name).values(**columns))

    platform.run(store)


def stored(platform: MemoryPlatform, name: str) -> Any:
    return platform.run(lambda conn: conn.execute(select(users).where(users.c.name == name)).one())


def submit(client: Client, link: str, form: str = "", **fields: str) -> Reply:
    """Send the form of *link* with the nonce that stands there, or on another page."""
    nonce = re.search(r"csrfNonce': \"([0-9a-f]{64})", client.get(form or link).text)
    assert nonce is not None, "no page"
    return client.request("POST", link, data={"nonce": nonce[1], **fields})


@pytest.fixture
def bob(platform: MemoryPlatform, admin: Client, browser: SignUp) -> Client:
    """Bob's browser, signed in, after an administrator has told him to choose a new password."""
    signed_in = browser("bob", "first-password")
    change = admin.patch(f"/api/v1/users/{stored(platform, 'bob').id}", {"change_password": True})
    assert change.data["change_password"] is True
    return signed_in


def test_every_route_leads_to_the_form(bob: Client) -> None:
    for path in ("/", "/challenges", "/login", "/settings", "/no/such/page", "/api/v1/challenges", "/share/solve"):
        reply = bob.get(path)
        assert (reply.status, reply.location[:16]) == (302, "/reset_password/"), path
    calls = {ME: "GET", "/api/v1/tokens": "POST", "/api/v1/teams/me": "PATCH", "/api/v1/no/such/route": "DELETE"}
    for path, method in calls.items():
        reply = bob.request(method, path, headers={"Content-Type": "application/json"}, data=b"{}")
        assert (reply.status, reply.location[:16]) == (302, "/reset_password/"), path
    assert bob.request("POST", "/login", data={"name": "bob"}).location.startswith("/reset_password/")


def test_theme_files_logout_and_the_form_itself_stay_open(platform: MemoryPlatform, bob: Client) -> None:
    page = bob.get(bob.get("/challenges").location)
    sheet = re.search(r'href="(/themes/[^"]+)"', page.text)
    assert sheet is not None
    assert bob.get(html.unescape(sheet[1])).status == 200
    assert said(page) == ["Please choose a new password before you go on."]
    assert has_form(page)
    assert (bob.get("/logout").location, "session" in bob.cookies) == ("/", False)
    assert platform.client().get("/login").status == 200


def test_a_new_password_opens_everything_again(platform: MemoryPlatform, bob: Client, browser: SignUp) -> None:
    elsewhere = platform.client()
    elsewhere.submit("/login", name="bob", password="first-password")
    other = browser("other")
    link = bob.get("/challenges").location
    reply = submit(bob, link, password="  second password ")
    assert (reply.status, reply.location, "session" in bob.cookies) == (302, "/login", False)
    assert (stored(platform, "bob").change_password, verify("second password", stored(platform, "bob").password)) == (
        False,
        True,
    )
    assert elsewhere.get("/settings").location.startswith("/login?next=")
    assert other.get(ME, **JSON).data["name"] == "other"
    assert platform.run(lambda conn: conn.scalar(select(func.count()).select_from(sessions))) == 1
    assert "incorrect" in bob.submit("/login", name="bob", password="first-password").text
    assert bob.submit("/login", name="bob", password="second password").location == "/challenges"
    assert bob.get(ME, **JSON).data["name"] == "bob"


def test_a_password_must_be_long_enough(platform: MemoryPlatform, bob: Client) -> None:
    platform.configure(password_min_length=9)
    link = bob.get("/").location
    assert "Please pick a longer password" in said(submit(bob, link, password="   "))
    assert "Please pick a longer password" in said(submit(bob, link))
    reply = submit(bob, link, password=" 12345678 ")
    assert "Password must be at least 9 characters" in said(reply)
    assert has_form(reply)
    assert stored(platform, "bob").change_password is True
    assert submit(bob, link, password="123456789").location == "/login"


def test_a_link_works_once_even_for_the_same_password(platform: MemoryPlatform, bob: Client) -> None:
    link = bob.get("/").location
    second = platform.client()
    assert has_form(second.get(link))
    assert submit(bob, link, password="first-password").location == "/login"
    for reply in (second.get(link), second.request("POST", link, data={"nonce": second.nonce, "password": "x"})):
        assert said(reply) == [INVALID]
        assert not has_form(reply)
    assert verify("first-password", stored(platform, "bob").password)


@pytest.mark.parametrize("change", [{"password": None}, {"email": "bob@new.example"}, {"password": "another hash"}])
def test_a_link_dies_with_what_it_was_made_for(
    platform: MemoryPlatform, bob: Client, change: dict[str, object]
) -> None:
    link = bob.get("/").location
    sets(platform, "bob", **change)
    assert said(platform.client().get(link)) == [INVALID]


def test_a_link_lives_half_an_hour(platform: MemoryPlatform, bob: Client) -> None:
    link = bob.get("/").location
    platform.clock.advance(timedelta(minutes=30).total_seconds())
    assert has_form(platform.client().get(link))
    platform.clock.advance(1)
    visitor = platform.client()
    assert said(visitor.get(link)) == [INVALID]
    assert said(visitor.request("POST", link, data={"nonce": visitor.nonce, "password": "x"})) == [INVALID]
    expired = bob.get(link)
    assert said(expired) == [INVALID]
    assert 'href="/reset_password">Choose a new password' in expired.text
    assert has_form(bob.get(bob.get("/reset_password").location))


@pytest.mark.parametrize("link", ["x", "a.b.c", "%00", "ImJvYiI.acX2hA.AAAA", "." * 90])
def test_an_unknown_link_is_told_so(platform: MemoryPlatform, link: str) -> None:
    assert said(platform.client().get(f"/reset_password/{link}")) == [INVALID]


def test_what_is_signed_for_another_purpose_is_no_link(platform: MemoryPlatform, bob: Client) -> None:
    keys, user = Keys(platform.settings.secret_key), stored(platform, "bob")
    assert bob.get("/").status == 302
    for payload in ({"id": user.id, "v": keys.team_mac(1, None)}, {"user": user.id}, {"user": "1", "v": 1}, [1], "x"):
        link = keys.sign(platform.now, payload)
        assert said(platform.client().get(f"/reset_password/{link}")) == [INVALID]


def test_a_form_without_its_nonce_is_refused(bob: Client) -> None:
    link = bob.get("/").location
    assert bob.request("POST", link, data={"password": "second"}).status == 403


def test_ten_tries_a_minute(platform: MemoryPlatform) -> None:
    visitor = platform.client()
    for path in ("/reset_password", "/reset_password/x"):
        data = {"nonce": visitor.nonce, "password": "x"}
        statuses = [visitor.request("POST", path, data=data).status for _ in range(11)]
        assert statuses == [200] * 10 + [429]


def test_an_access_token_is_sent_away_too_and_opens_nothing(platform: MemoryPlatform, bob: Client) -> None:
    """A leaked token must not be worth the account: who came by it signs in before they choose a password."""
    script = platform.player("bob")
    reply = script.get(ME)
    assert (reply.status, reply.location[:16]) == (302, "/reset_password/")
    link = reply.location
    cookies = dict(script.cookies)
    assert "session" in cookies
    assert script.get(link).status == 403
    assert script.post(link, {"password": "stolen"}).status == 403

    with_cookie = platform.client()
    for send in (with_cookie.get, lambda path: submit(with_cookie, path, form="/reset_password/x", password="stolen")):
        with_cookie.cookies = dict(cookies)
        assert with_cookie.get("/reset_password").location == link
        reply = send(link)
        assert reply.location.startswith("/login?next=%2Freset_password%2F")
        assert with_cookie.get(reply.location).status == 200
    visitor = platform.client()
    assert visitor.get(link).location.startswith("/login?next=%2Freset_password%2F")
    assert has_form(bob.get(link))
    assert verify("first-password", stored(platform, "bob").password)


def test_after_signing_in_the_links_of_a_token_lead_to_the_form(platform: MemoryPlatform, bob: Client) -> None:
    assert bob.get("/logout").status == 302
    link = platform.player("bob").get(ME).location
    form = bob.get(link).location
    assert bob.submit(form, name="bob", password="first-password").location == f"{link}?"
    assert submit(bob, link, password="second").location == "/login"
    assert platform.player("bob").get(ME).data["name"] == "bob"


def test_without_a_link_somebody_else_must_be_asked(platform: MemoryPlatform) -> None:
    reply = platform.client().get("/reset_password")
    assert said(reply) == ["Password resets by email are not configured. Please ask the organisers for a new password."]
    assert "<form" not in reply.text.split("<main")[1]


def test_who_came_from_elsewhere_and_must_choose_a_password_can(platform: MemoryPlatform, bob: Client) -> None:
    sets(platform, "bob", oauth_id=7)
    link = bob.get("/").location
    assert has_form(bob.get(link))
    told = said(platform.client().get(link))
    assert told[0].startswith("Your account was registered with a 3rd party authentication provider.")
    assert submit(bob, link, password="second").location == "/login"
    assert platform.client().submit("/login", name="bob", password="second").location == "/challenges"


def test_the_owner_is_told_by_mail(platform: MemoryPlatform, bob: Client) -> None:
    platform.configure(mail_server="mail.example", mail_port=25)
    assert submit(bob, bob.get("/").location, password="second").location == "/login"
    letter = platform.run(lambda conn: conn.execute(select(outbox)).one())
    assert (letter.recipient, letter.subject) == ("bob@example.org", "Password changed for Test CTF")


def test_administrators_are_sent_away_as_well(browser: SignUp) -> None:
    chief = browser("chief", type="admin", change_password=True)
    assert chief.get("/admin/statistics").location.startswith("/reset_password/")
    assert submit(chief, chief.get("/admin").location, password="second").location == "/login"


def test_of_two_that_use_a_link_at_once_one_succeeds(platform: MemoryPlatform, bob: Client) -> None:
    del bob
    keys, user_id = Keys(platform.settings.secret_key), stored(platform, "bob").id
    player = platform.run(load_player, user_id, keys)
    link = make_link(keys, platform.now, player, signs_in_first=False)
    assert platform.run(find_owner, platform.now, keys, link).user_id == user_id
    outcomes = [platform.run(store_new_password, platform.now, keys, link, new, None) for new in ("hash 1", "hash 2")]
    assert (outcomes, stored(platform, "bob").password) == ([True, False], "hash 1")


def test_below_an_application_root_the_links_are_there_too() -> None:
    platform = MemoryPlatform(application_root="/ctf").setup()
    token = platform.player("bob", change_password=True).token
    script = Client(mounted(platform.platform.resource, "/ctf"), token)
    assert script.get("/ctf/api/v1/users/me").location.startswith("/ctf/reset_password/")
    assert script.get("/ctf/logout").location == "/ctf/"
    platform.close()
