"""The whole story over sockets: setup, token, people, challenges, a hill with key and TLS, and signed webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stripe
from running import BIN, Person, PlatformProcess, Receiver, Running, eventually

KEY = "a key between platform and agent"


@pytest.fixture
def platform(tmp_path: Path, database_url: str) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path, database_url) as running:
        yield running


def set_up(platform: PlatformProcess, mode: str = "teams") -> Person:
    """Set the competition up in a browser; the administrator with a token made on the settings page."""
    browser = Person(platform)
    done = browser.submit(
        "/setup",
        ctf_name="The Story",
        ctf_description="from setup to the last signature",
        user_mode=mode,
        name="organiser",
        email="organiser@example.org",
        password="a long password",
    )
    assert done.status_code == 200, done.text
    assert browser.page("/settings").status_code == 200
    made = browser.call("POST", "/tokens", {"description": "the story"})
    return Person(platform, made["value"])


def a_player(platform: PlatformProcess, admin: Person, name: str) -> tuple[Person, int, int | None]:
    """A player with a token, made by the API, in a team of their own where teams play; with both ids."""
    user = admin.call(
        "POST", "/users", {"name": name, "email": f"{name}@example.org", "password": f"{name}-pw", "verified": True}
    )
    team_id = None
    if admin.raw("GET", "/teams").status_code == 200:
        team_id = admin.call("POST", "/teams", {"name": f"Team {name}", "password": "team-pw"})["id"]
        admin.call("POST", f"/teams/{team_id}/members", {"user_id": user["id"]})
    browser = Person(platform)
    browser.submit("/login", name=name, password=f"{name}-pw")
    return Person(platform, browser.call("POST", "/tokens", {})["value"]), user["id"], team_id


def a_webhook(admin: Person, receiver: Receiver) -> int:
    """A validated endpoint for all events; its id."""
    events = ["user.created", "team.created", "solve.created", "first_blood.created", "koth.king_changed"]
    hook = admin.call("POST", "/webhooks", {"url": receiver.url, "events": events})
    assert hook["state"] == "pending"
    assert admin.call("POST", f"/webhooks/{hook['id']}/validate", {})["state"] == "active"
    return int(hook["id"])


def a_receiver(admin: Person) -> Receiver:
    secret = admin.call("GET", "/webhooks/secret")["secret"]
    return Receiver(lambda token: hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest())


def an_agent(folder: Path) -> Running:
    """An agent with key and TLS on a port of its own; its owner file is ``owner.txt`` in *folder*."""
    subprocess.run([BIN / "kothagent", "certify", "hill", "IP:127.0.0.1"], cwd=folder, check=True, capture_output=True)
    tls: list[str | Path] = ["--certfile", folder / "hill.crt", "--keyfile", folder / "hill.key"]
    where: list[str | Path] = ["--file", folder / "owner.txt", "--host", "127.0.0.1", "--port", "0"]
    return Running(
        [BIN / "twistd", "-n", "--pidfile=", "kothagent", *where, *tls], folder / "agent.log", KOTHAGENT_APIKEY=KEY
    )


def checks(admin: Person, hill_id: int) -> list[dict[str, Any]]:
    """Every tick of a hill."""
    found: list[dict[str, Any]] = admin.call("GET", f"/koth/{hill_id}/checks?per_page=100")
    return found


def hill_awards(admin: Person) -> list[dict[str, Any]]:
    """Every award that a hill has paid."""
    return [award for award in admin.call("GET", "/awards") if award["type"] == "koth"]


def test_the_whole_story(platform: PlatformProcess, tmp_path: Path) -> None:
    admin = set_up(platform)
    with a_receiver(admin) as receiver:
        a_webhook(admin, receiver)
        alice, _, alice_team = a_player(platform, admin, "alice")
        bob, _, _ = a_player(platform, admin, "bob")

        challenge = admin.call(
            "POST", "/challenges", {"name": "Warm-up", "category": "misc", "value": 100, "type": "standard"}
        )
        admin.call("POST", "/flags", {"challenge_id": challenge["id"], "type": "static", "content": "flag{warm}"})

        def attempt(person: Person, text: str) -> str:
            body = {"challenge_id": challenge["id"], "submission": text}
            return str(person.call("POST", "/challenges/attempt", body)["status"])

        assert attempt(alice, "flag{cold}") == "incorrect"
        assert attempt(alice, " flag{warm} ") == "correct"
        assert attempt(alice, "flag{warm}") == "already_solved"
        assert attempt(bob, "flag{warm}") == "correct"

        (tmp_path / "owner.txt").write_text("")
        with an_agent(tmp_path) as agent:
            port = agent.wait_for(r"Listening on \S+:(\d+)")[1]
            hill = admin.call(
                "POST",
                "/challenges",
                {
                    "name": "The Hill",
                    "category": "koth",
                    "description": "Hold it.",
                    "type": "koth",
                    "url": f"https://127.0.0.1:{port}/status",
                    "interval": 1,
                    "reward": 7,
                    "api_key": KEY,
                    "tls_certificate": (tmp_path / "hill.crt").read_text(),
                    "state": "visible",
                },
            )
            hill_id = hill["id"]
            token = alice.call("GET", f"/challenges/{hill_id}")["koth"]["token"]
            assert len(token) >= 20
            (tmp_path / "owner.txt").write_text(token + "\n")

            def held() -> list[dict[str, Any]] | None:
                ticks = [tick for tick in checks(admin, hill_id) if tick["outcome"] == "held"]
                return ticks if len(ticks) >= 6 else None

            eventually(held, "six ticks held")
            king = alice.call("GET", f"/koth/{hill_id}")["king"]
            assert king["name"] == "Team alice"
            (tmp_path / "owner.txt").write_text("")
            eventually(lambda: checks(admin, hill_id)[0]["outcome"] == "unclaimed", "the hill is free again")
            paid = [tick for tick in checks(admin, hill_id) if tick["outcome"] == "held"]
            awards = hill_awards(admin)
            assert sorted(tick["award_id"] for tick in paid) == sorted(award["id"] for award in awards)
            assert {award["value"] for award in awards} == {7}
            assert {(award["user_id"], award["team_id"]) for award in awards} == {(None, alice_team)}
            board = {row["name"]: row["score"] for row in alice.call("GET", "/scoreboard")}
            assert board == {"Team alice": 100 + 7 * len(paid), "Team bob": 100}

        eventually(lambda: len(receiver.named("solve.created")) == 2, "both solves are told")
        eventually(lambda: receiver.named("koth.king_changed"), "the change of king is told")
        check_events(receiver, admin, alice_team)
    assert platform.stop() in {0, -15}


def check_events(receiver: Receiver, admin: Person, alice_team: int | None) -> None:
    """All four events came, each once, signed so that code that nobody here wrote agrees."""
    secret = admin.call("GET", "/webhooks/secret")["secret"]
    for headers, body in receiver.events:
        signed = headers["Service-Webhook-Signature"]
        assert stripe.WebhookSignature.verify_header(body.decode(), signed, secret, tolerance=300)
        with pytest.raises(stripe.SignatureVerificationError):
            stripe.WebhookSignature.verify_header(body.decode() + " ", signed, secret, tolerance=300)
        assert headers["User-Agent"] == "Service-Webhook"
        assert headers["Accept"] == "*/*"
        assert headers["Accept-Encoding"] == "gzip, deflate"
        assert headers["Content-Type"] == "application/json"
    ids = [headers["Service-Webhook-Id"] for headers, _ in receiver.events]
    assert len(ids) == len(set(ids))
    assert [json.loads(body)["name"] for _, body in receiver.named("user.created")] == ["alice", "bob"]
    team = json.loads(receiver.named("team.created")[0][1])
    profile = {"country", "website", "oauth_id", "name", "id", "fields", "affiliation", "bracket"}
    assert set(team) == profile | {"captain_id", "members"}
    assert team["id"] == alice_team
    (blood,) = receiver.named("first_blood.created")
    solve = json.loads(blood[1])
    assert set(solve) == {"id", "challenge_id", "challenge", "team", "user", "date", "type"}
    assert (solve["type"], solve["team"]["name"], solve["user"]["name"]) == ("correct", "Team alice", "alice")


def test_a_kill_between_the_change_and_its_delivery_loses_no_event(platform: PlatformProcess) -> None:
    admin = set_up(platform, "users")
    with a_receiver(admin) as receiver:
        a_webhook(admin, receiver)
        receiver.open.clear()
        admin.call("POST", "/users", {"name": "late", "email": "late@example.org", "password": "x" * 9})
        eventually(receiver.waiting.is_set, "the first attempt is under way")
        platform.kill()
        receiver.open.set()
        eventually(lambda: receiver.events, "the interrupted attempt ends")
        platform.start()
        eventually(lambda: len(receiver.events) >= 2, "the event is delivered again")
        ids = {headers["Service-Webhook-Id"] for headers, _ in receiver.named("user.created")}
        bodies = {body for _, body in receiver.named("user.created")}
        assert len(ids) == 1
        assert len(bodies) == 1


def test_a_kill_during_a_tick_pays_no_tick_twice(platform: PlatformProcess, tmp_path: Path) -> None:
    admin = set_up(platform, "users")
    alice, alice_id, _ = a_player(platform, admin, "alice")
    body = {"name": "Slow", "category": "koth", "type": "koth", "interval": 1, "reward": 5, "state": "visible"}
    (tmp_path / "owner.txt").write_text("alice")
    command: list[str | Path] = [
        BIN / "kothagent",
        "--owner-cmd",
        "sleep 0.4; cat owner.txt",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    with Running(command, tmp_path / "slow.log") as agent:
        port = agent.wait_for(r"Listening on \S+:(\d+)")[1]
        hill_id = admin.call("POST", "/challenges", {**body, "url": f"http://127.0.0.1:{port}/status"})["id"]
        for _ in range(3):
            before = len(hill_awards(admin))
            eventually(lambda before=before: len(hill_awards(admin)) > before + 1, "two more ticks are paid")  # type: ignore[misc]
            platform.kill()
            platform.start()
        before = len(hill_awards(admin))
        eventually(lambda: len(hill_awards(admin)) > before, "polling goes on")
        admin.call("PATCH", f"/challenges/{hill_id}", {"state": "hidden"})
    ticks = checks(admin, hill_id)
    numbers = [tick["tick"] for tick in ticks]
    assert len(numbers) == len(set(numbers))
    paid = [tick["award_id"] for tick in ticks if tick["outcome"] == "held"]
    assert sorted(paid) == sorted(award["id"] for award in hill_awards(admin))
    assert {award["user_id"] for award in hill_awards(admin)} == {alice_id}
    assert [row["score"] for row in alice.call("GET", "/scoreboard")] == [5 * len(paid)]
