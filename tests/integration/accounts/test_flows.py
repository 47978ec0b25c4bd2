"""Everything that people do with accounts, once through, on both databases as they are opened in earnest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from twisted.internet.task import Clock

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.service import make_platform
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import Client, settings_for_tests
from ctfd_twisted.testing.fake_agent import FakeAgents
from ctfd_twisted.testing.oauth import MemoryProvider
from ctfd_twisted.testing.webhooks import MemoryReach

JSON = {"content_type": "application/json"}
NewClient = Callable[..., Client]


@pytest.fixture
def client(engines: Engines) -> NewClient:
    clock = Clock()
    clock.advance(datetime(2026, 3, 14, tzinfo=UTC).timestamp())
    db = Database(engines, Bus(), write=start_inline, read=start_inline)
    settings = settings_for_tests(mail=MailServer("mail.example", 25, "ctf@example.org"))
    platform = make_platform(
        settings, clock, db, start_inline, MemoryReach(), FakeAgents(), start_inline, MemoryProvider()
    )
    return lambda token=None: Client(platform.resource, token)


def test_a_competition_from_its_setup_to_its_last_account(client: NewClient) -> None:
    admin = client()
    setup = {"ctf_name": "X", "name": "admin", "email": "a@b.co", "password": "p", "user_mode": "teams"}
    assert admin.submit("/setup", **setup).location == "/"
    token = admin.post("/api/v1/tokens", {}).data
    script = client(token["value"])
    body = {"name": "bob", "email": "bob@x.co", "password": "p"}
    bob_id = script.post("/api/v1/users?notify=true", body).data["id"]
    assert script.patch(f"/api/v1/users/{bob_id}", {"affiliation": "A", "fields": []}).data["affiliation"] == "A"

    bob, eve = client(), client()
    assert bob.submit("/login", name="bob", password="p").location == "/challenges"
    assert bob.submit("/teams/new", name="T", password="t").location == "/challenges"
    assert eve.submit("/register", name="eve", email="eve@x.co", password="p").location == "/team"
    code = bob.post("/api/v1/teams/me/members", {}).data["code"]
    assert eve.get(f"/teams/invite?code={code}").status == 200
    assert eve.submit("/teams/join", name="T", password="t").location == "/challenges"
    eve_id = eve.get("/api/v1/users/me", **JSON).data["id"]

    for path in (
        "users", "users?q=e&field=name", "users?view=admin&field=email&q=x", f"users/{bob_id}",
        f"users/{bob_id}/solves",
        f"users/{bob_id}/fails", f"users/{bob_id}/awards", f"users/{bob_id}/sessions", "users/me", "users/me/solves",
        "users/me/fails", "users/me/awards", "users/me/sessions", "teams", "teams/1", "teams/1/members",
        "teams/1/solves", "teams/1/fails", "teams/1/awards", "tokens", f"tokens/{token['id']}", "brackets",
    ):  # fmt: skip
        assert script.get(f"/api/v1/{path}").status == 200, path
    for path in ("teams/me", "teams/me/solves", "teams/me/fails", "teams/me/awards", "users/me"):
        assert bob.get(f"/api/v1/{path}", **JSON).status == 200, path
    assert set(script.post("/api/v1/teams/1/members", {}).data) == {"code"}

    assert bob.patch("/api/v1/users/me", {"password": "q", "confirm": "p", "email": "b@x.co"}).status == 200
    assert bob.patch("/api/v1/teams/me", {"password": "u", "confirm": "q", "captain_id": eve_id}).status == 200
    assert bob.submit("/reset_password", email="b@x.co").status == 200
    assert script.patch("/api/v1/teams/1", {"captain_id": bob_id}).data["captain_id"] == bob_id
    assert script.delete("/api/v1/teams/1/members", {"user_id": eve_id}).data == [bob_id]
    assert bob.delete("/api/v1/teams/me", {}).json == {"success": True}
    other = script.post("/api/v1/teams", {"name": "U", "password": "p"}).data["id"]
    assert script.post(f"/api/v1/teams/{other}/members", {"user_id": eve_id}).data == [eve_id]
    assert script.delete(f"/api/v1/teams/{other}", {}).json == {"success": True}
    assert eve.delete("/api/v1/users/me/sessions", {}).json == {"success": True}
    assert script.delete(f"/api/v1/users/{eve_id}", {}).json == {"success": True}
    assert eve.get("/api/v1/users/me", **JSON).status == 403
    assert bob.get("/logout").location == "/"
    assert script.delete(f"/api/v1/tokens/{token['id']}", {}).json == {"success": True}
    assert script.get("/api/v1/users/me").status == 401


def test_a_text_with_a_nul_is_refused_and_not_a_defect(client: NewClient) -> None:
    admin = client()
    setup = {"ctf_name": "X\0", "name": "ad\0min", "email": "a@b.co", "password": "p\0"}
    assert admin.submit("/setup", **setup).location == "/"
    for body in (
        {"name": "a\0b", "password": "p"},
        {"name": "ab", "password": "p", "affiliation": "\0"},
        {"name": "ab", "password": "p", "email": "a\0@b.co"},
    ):
        assert admin.post("/api/v1/users", body).errors == {"": ["Text must not hold the character U+0000"]}
    assert admin.get("/api/v1/users?q=%00&field=name").status == 200
    assert client().submit("/login", name="\0", password="\0").status == 200
    assert client().submit("/register", name="e\0", email="e@x.co", password="p").status == 302
