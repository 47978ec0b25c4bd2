"""An administrator makes somebody choose a new password, over sockets, with real threads and databases."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running import Person, PlatformProcess
from sqlalchemy import create_engine, text

OLD = "what the administrator wrote down"


@pytest.fixture
def platform(tmp_path: Path, database_url: str) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path, database_url) as running:
        yield running


@pytest.fixture
def admin(platform: PlatformProcess) -> Person:
    browser = Person(platform)
    account = {"name": "admin", "email": "admin@example.org", "password": "a long password"}
    browser.submit("/setup", ctf_name="CTF", ctf_description="", user_mode="users", **account)
    return browser


def a_player(platform: PlatformProcess, admin: Person, **columns: object) -> Person:
    """Alice, in a browser in which she has sent the form of ``/login``."""
    body = {"name": "alice", "email": "alice@example.org", "password": OLD, "verified": True, **columns}
    admin.call("POST", "/users", body)
    browser = Person(platform)
    browser.submit("/login", name="alice", password=OLD)
    return browser


def test_a_player_chooses_before_anything_else(platform: PlatformProcess, admin: Person) -> None:
    alice = a_player(platform, admin)
    script = Person(platform, alice.call("POST", "/tokens", {})["value"])
    user_id = script.call("GET", "/users/me")["id"]
    admin.call("PATCH", f"/users/{user_id}", {"change_password": True})

    led = alice.page("/challenges")
    link = led.history[0].headers["Location"]
    assert (led.status_code, link.startswith("/reset_password/")) == (200, True)
    assert alice.raw("GET", "/users/me").history[0].headers["Location"].startswith("/reset_password/")
    assert script.raw("GET", "/users/me").history[0].headers["Location"].startswith("/reset_password/")
    assert "Please pick a longer password" in alice.submit(link, password="  ").text
    done = alice.submit(link, password="a password of her own")
    assert (done.history[0].headers["Location"], done.status_code) == ("/login", 200)
    assert alice.page("/settings").history[0].headers["Location"].startswith("/login?next=")

    assert "incorrect" in alice.submit("/login", name="alice", password=OLD).text
    alice.submit("/login", name="alice", password="a password of her own")
    assert alice.call("GET", "/users/me")["name"] == "alice"
    assert script.call("GET", "/users/me")["name"] == "alice"
    assert "Your reset link is invalid" in alice.page(link).text


def test_a_link_that_is_used_by_two_at_once_works_for_one(
    platform: PlatformProcess, admin: Person, database_url: str
) -> None:
    alice = a_player(platform, admin, change_password=True)
    link = alice.page("/challenges").history[0].headers["Location"]
    people = {f"choice number {number}": Person(platform) for number in range(6)}
    with ThreadPoolExecutor(len(people)) as pool:
        answers = dict(zip(people, pool.map(lambda one: people[one].submit(link, password=one), people), strict=True))
    chosen = [password for password, answer in answers.items() if answer.history]
    assert len(chosen) == 1
    refused = [answer for answer in answers.values() if not answer.history]
    assert all("Your reset link is invalid" in answer.text for answer in refused)
    assert Person(platform).submit("/login", name="alice", password=chosen[0]).history
    engine = create_engine(database_url)
    with engine.connect() as conn:
        assert not conn.execute(text("SELECT change_password FROM users WHERE name = 'alice'")).scalar_one()
    engine.dispose()
