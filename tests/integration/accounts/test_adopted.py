"""Who had an account on CTFd has one here: the same names, passwords, tokens, teams and fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select
from twisted.internet.task import Clock

from ctfd_twisted.accounts.tables import tokens
from ctfd_twisted.accounts.tokens import digest_of
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.service import make_platform
from ctfd_twisted.testing import Client, result_of, settings_for_tests
from ctfd_twisted.testing.fake_agent import FakeAgents
from ctfd_twisted.testing.oauth import MemoryProvider
from ctfd_twisted.testing.webhooks import MemoryReach

NOW = datetime(2026, 11, 21, tzinfo=UTC)
JSON = {"content_type": "application/json"}
ME = "/api/v1/users/me"


class Adopted:
    """A platform over a database that CTFd wrote."""

    def __init__(self, event: Any) -> None:
        engines = open_engines(event.url)
        migrate(engines.write_engine)
        self.event = event
        self.db = Database(engines, Bus(), write=start_inline, read=start_inline)
        clock = Clock()
        clock.advance(NOW.timestamp())
        settings = settings_for_tests(secret_key=event.secret_key.encode())
        platform = make_platform(
            settings, clock, self.db, start_inline, MemoryReach(), FakeAgents(), start_inline, MemoryProvider()
        )
        self.client: Callable[..., Client] = lambda token=None: Client(platform.resource, token)


@pytest.fixture
def adopted(ctfd_event: Any) -> Iterator[Adopted]:
    adopted = Adopted(ctfd_event)
    yield adopted
    adopted.db.close()


def test_passwords_open_and_wrong_ones_do_not(adopted: Adopted) -> None:
    name, password = adopted.event.players[0]
    assert adopted.client().submit("/login", name=name, password=password + "x").status == 200
    client = adopted.client()
    assert client.submit("/login", name=f"{name}@ctf.example", password=password).location == "/challenges"
    me = client.get(ME, **JSON).data
    assert (me["name"], me["email"]) == (name, f"{name}@ctf.example")
    assert [entry["name"] for entry in me["fields"]] == ["School", "Newsletter"]
    public = adopted.client().get(f"/api/v1/users/{me['id']}").data
    assert [(entry["name"], entry["value"]) for entry in public["fields"]] == [("School", "School 0")]


def test_the_clear_token_works_and_is_kept_hashed_from_then_on(adopted: Adopted) -> None:
    token = adopted.event.admin_token
    client = adopted.client(token)
    for _ in range(2):
        assert client.get(ME).data["name"] == adopted.event.admin[0]
    stored = result_of(adopted.db.read(lambda conn: conn.scalar(select(tokens.c.value))))
    assert stored == "sha256$" + digest_of(token)


def test_places_and_scores_are_ctfds(adopted: Adopted) -> None:
    admin = adopted.client(adopted.event.admin_token)
    kind = "teams" if adopted.event.mode == "teams" else "users"
    ids = {row["name"]: row["id"] for row in admin.get(f"/api/v1/{kind}").data}
    ordinals = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th"}
    for place, name, score in adopted.event.scoreboard[:4]:
        data = adopted.client().get(f"/api/v1/{kind}/{ids[name]}").data
        assert (data["place"], data["score"]) == (ordinals[place], score)


def test_members_fields_and_captains_are_there(adopted: Adopted) -> None:
    if adopted.event.mode != "teams":
        assert adopted.client().get("/api/v1/teams").status == 404
        return
    admin = adopted.client(adopted.event.admin_token)
    team = admin.get("/api/v1/teams/1").data
    assert (team["name"], team["members"], team["captain_id"]) == ("Team 0", [2, 3, 4], 2)
    assert [entry["name"] for entry in team["fields"]] == ["City"]
    # A hidden member and a banned one are the administrators' business.
    assert adopted.client().get("/api/v1/teams/2").data["members"] == [7]
    assert admin.get("/api/v1/teams/2").data["members"] == [5, 6, 7]
