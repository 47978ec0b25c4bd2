"""ctfd-mcp-server, through which a language model plays: its tools, called over the protocol that it speaks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
from running import DEADLINE, Person, PlatformProcess

PASSWORD = "a password of her own"


class Model:
    """Somebody who plays through the tools of the server."""

    def __init__(self, commands: Path, folder: Path, platform: PlatformProcess) -> None:
        self._python = commands / "python"
        self._folder = folder
        self._settings = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CTFD_", "PYTHON"))},
            "CTFD_BASE_URL": platform.base,
            "CTFD_ALLOW_PRIVATE_IPS": "1",
            "CTFD_STATE_FILE": str(folder / "state.json"),
            "CTFD_DOWNLOAD_DIR": str(folder / "downloads"),
        }

    def use(self, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
        """What the server's tools answered, each called after the one before; a new server each time."""
        done = subprocess.run(
            [self._python, Path(__file__).with_name("mcp_talk.py")],
            cwd=self._folder,
            env=self._settings,
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        tools, *answers = json.loads(done.stdout)
        assert {"challenges", "submit_flag", "login", "scoreboard"} <= set(tools)
        return list(answers)


@pytest.fixture
def model(clients: Path, platform: PlatformProcess, tmp_path: Path) -> Model:
    return Model(clients, tmp_path, platform)


@pytest.fixture
def event(admin: Person) -> dict[str, int]:
    """Two challenges, one with a file and hints, and a player called alice; the ids by name."""
    ids: dict[str, int] = {}
    for name, category, value in (("Warm-up", "misc", 100), ("Locked room", "pwn", 300)):
        made = admin.call(
            "POST", "/challenges", {"name": name, "category": category, "value": value, "type": "standard"}
        )
        admin.call("POST", "/flags", {"challenge_id": made["id"], "type": "static", "content": f"event{{{category}}}"})
        ids[name] = made["id"]
    for cost, content in ((0, "Knock."), (50, "Twice.")):
        hint = admin.call("POST", "/hints", {"challenge_id": ids["Locked room"], "content": content, "cost": cost})
        ids[content] = hint["id"]
    account = {"name": "alice", "email": "alice@example.org", "password": PASSWORD, "verified": True}
    ids["alice"] = admin.call("POST", "/users", account)["id"]
    return ids


def a_game(event: dict[str, int]) -> list[tuple[str, dict[str, Any]]]:
    """What both players do once the platform knows them."""
    locked, warm = event["Locked room"], event["Warm-up"]
    return [
        ("auth_status", {}),
        ("challenges", {}),
        ("challenges", {"category": "pwn", "solved": False}),
        ("challenge", {"identifier": "Locked room"}),
        ("submit_flag", {"flag": "event{wrong}", "challenge_id": warm, "confirm": True}),
        ("submit_flag", {"flag": "event{misc}", "challenge_name": "Warm-up", "confirm": True}),
        ("submit_flag", {"flag": "event{misc}", "challenge_id": warm, "confirm": True}),
        ("unlock_hint", {"hint_id": event["Twice."]}),
        ("submit_flag", {"flag": "event{pwn}", "challenge_id": locked, "confirm": True}),
        ("scoreboard", {}),
        ("progress", {}),
        ("challenge", {"identifier": "77"}),
        ("health", {}),
        ("instance_info", {}),
    ]


def check(answers: list[Any], event: dict[str, int]) -> None:
    """Compare the answers to ``a_game`` with what should come of it."""
    status, listed, filtered, detail, wrong, right, again, hint, last, board, progress, absent, health, info = answers
    assert status["authenticated"] is True
    assert {(one["name"], one["value"], one["solved_by_me"]) for one in listed["items"]} == {
        ("Warm-up", 100, False),
        ("Locked room", 300, False),
    }
    assert {one["name"] for one in filtered["items"]} == {"Locked room"}
    assert (detail["data"]["id"], detail["data"]["category"]) == (event["Locked room"], "pwn")
    assert [(one["id"], one["cost"]) for one in detail["data"]["hints"]] == [
        (event["Knock."], 0),
        (event["Twice."], 50),
    ]
    assert [one["status"] for one in (wrong, right, again, last)] == [
        "incorrect",
        "correct",
        "already_solved",
        "correct",
    ]
    assert (hint["success"], hint["content"]) == (True, "Twice.")
    assert [(one["pos"], one["name"], one["score"]) for one in board["data"]] == [(1, "alice", 350)]
    assert (progress["data"]["name"], progress["data"]["score"]) == ("alice", 350)
    assert absent["error"]["type"] == "ChallengeNotFoundError"
    assert (health["status"], health["authenticated"]) == ("ok", True)
    assert (info["reachable"], info["public_scoreboard"]) == (True, True)


def test_a_model_plays_with_a_token(model: Model, platform: PlatformProcess, event: dict[str, int]) -> None:
    alice = Person(platform)
    alice.submit("/login", name="alice", password=PASSWORD)
    token = alice.call("POST", "/tokens", {})["value"]
    adopted, *answers = model.use(("set_token", {"token": token}), *a_game(event))
    assert adopted["success"] is True
    check(answers, event)


def test_a_model_plays_with_a_password(model: Model, event: dict[str, int]) -> None:
    refused, known, *answers = model.use(
        ("auth_status", {}), ("login", {"username": "alice", "password": PASSWORD}), *a_game(event)
    )
    assert refused["authenticated"] is None
    assert (known["success"], known["csrf_used"]) == (True, True)
    check(answers, event)


def test_a_model_without_a_valid_credential_is_told_so(model: Model, event: dict[str, int]) -> None:
    locked = {"identifier": str(event["Locked room"])}
    _, status, detail, _, after = model.use(
        ("set_token", {"token": "ctfd_" + "0" * 64}),
        ("auth_status", {}),
        ("challenge", locked),
        ("login", {"username": "alice", "password": "a guess"}),
        ("challenge", locked),
    )
    assert status["authenticated"] is False
    assert (detail["error"]["type"], after["error"]["type"]) == ("AuthenticationError", "AuthenticationError")


def test_a_model_downloads_a_file(
    model: Model, admin: Person, token: str, event: dict[str, int], platform: PlatformProcess
) -> None:
    content = bytes(range(256))
    uploaded = requests.post(
        f"{platform.base}/api/v1/files",
        {"type": "challenge", "challenge_id": str(event["Locked room"])},
        headers={"Authorization": f"Token {token}"},
        files={"file": ("room.bin", content)},
        timeout=20,
    )
    assert uploaded.status_code == 200, uploaded.text
    [path] = admin.call("GET", f"/challenges/{event['Locked room']}")["files"]
    _, done = model.use(("login", {"username": "alice", "password": PASSWORD}), ("download_file", {"file_url": path}))
    assert Path(done["path"]).read_bytes() == content
