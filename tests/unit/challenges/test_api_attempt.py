"""POST /api/v1/challenges/attempt, as clients see it."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_flag

ATTEMPT = "/api/v1/challenges/attempt"
Make = Callable[..., Any]


@pytest.fixture
def challenge(make: Make) -> int:
    """A challenge with one flag, ``flag{right}``."""
    number: int = make(a_challenge)
    make(a_flag, number)
    return number


def answer(client: Client, challenge_id: object, submission: object = "flag{right}", query: str = "") -> Reply:
    return client.post(ATTEMPT + query, {"challenge_id": challenge_id, "submission": submission})


def stored(platform: MemoryPlatform) -> list[Any]:
    return list(platform.run(lambda conn: conn.execute(select(submissions)).all()))


def test_the_envelope(platform: MemoryPlatform, challenge: int) -> None:
    ann = platform.player("ann")
    assert answer(ann, challenge, "no").json == {
        "success": True,
        "data": {"status": "incorrect", "message": "Incorrect"},
    }
    assert answer(ann, str(challenge)).data == {"status": "correct", "message": "Correct"}
    assert answer(ann, challenge).data["status"] == "already_solved"
    assert [row.ip for row in stored(platform)] == ["127.0.0.1"] * 2


def test_a_refusal_is_a_success_with_another_status(platform: MemoryPlatform, make: Make) -> None:
    number, ann = make(a_challenge, max_attempts=1), platform.player("ann")
    assert answer(ann, number).data["message"] == "Incorrect. You have 0 tries remaining."
    refused = answer(ann, number)
    assert refused.status == 403
    assert refused.json == {
        "success": True,
        "data": {"status": "ratelimited", "message": "Not accepted. You have 0 tries remaining"},
    }
    platform.configure(incorrect_submissions_per_min=1)
    too_fast = answer(ann, make(a_challenge))
    assert too_fast.status == 429
    assert too_fast.json["data"]["message"] == "You're submitting flags too fast. Try again in 60 seconds."


def test_a_form_will_do(platform: MemoryPlatform, challenge: int) -> None:
    browser = platform.client()
    platform.player("ann")
    browser.cookies = session_of(platform, "ann")
    reply = browser.submit(ATTEMPT, challenge_id=str(challenge), submission="flag{right}")
    assert reply.data == {"status": "correct", "message": "Correct"}


def session_of(platform: MemoryPlatform, name: str) -> dict[str, str]:
    """The cookies that a player is given along with an answer to their token."""
    client = platform.player(name)
    client.get("/api/v1/users/me")
    return client.cookies


def test_a_stranger_is_asked_to_sign_in(platform: MemoryPlatform, challenge: int) -> None:
    stranger = platform.client()
    assert answer(stranger, challenge).json["message"].startswith("You don't have the permission")
    platform.configure(challenge_visibility="public")
    reply = answer(stranger, challenge)
    assert (reply.status, reply.json) == (403, {"success": True, "data": {"status": "authentication_required"}})
    assert stored(platform) == []


@pytest.mark.parametrize("challenge_id", [None, 999, "999", "x", True, [], 2**40, -1, 1.5])
def test_unknown_challenges_are_not_found(platform: MemoryPlatform, challenge_id: object) -> None:
    assert answer(platform.player("ann"), challenge_id).status == 404


@pytest.mark.parametrize("challenge_id", [None, 999, "x"])
def test_an_unknown_challenge_is_told_after_the_pause_and_the_team(
    platform: MemoryPlatform, challenge_id: object
) -> None:
    ann = platform.player("ann")
    platform.configure(user_mode="teams")
    assert answer(ann, challenge_id).status == 403
    platform.configure(paused=True)
    assert answer(ann, challenge_id).json["data"]["status"] == "paused"


@pytest.mark.parametrize("submission", [None, 5, ["x"], {"a": 1}])
def test_an_answer_is_a_text(platform: MemoryPlatform, challenge: int, submission: object) -> None:
    reply = answer(platform.player("ann"), challenge, submission)
    assert reply.status == 500
    assert reply.errors == {"": ["submission: expected a string"]}


def test_an_answer_has_a_longest_length(platform: MemoryPlatform, challenge: int) -> None:
    ann = platform.player("ann")
    assert answer(ann, challenge, "x" * 65_535).data["status"] == "incorrect"
    assert answer(ann, challenge, "x" * 65_536).errors == {"submission": ["Longer than maximum length 65535."]}


def test_what_no_database_holds_is_refused(platform: MemoryPlatform, challenge: int) -> None:
    reply = answer(platform.player("ann"), challenge, "a\x00b")
    assert (reply.status, reply.errors) == (400, {"": ["Text must not hold the character U+0000"]})
    assert stored(platform) == []


def test_the_event_must_run(platform: MemoryPlatform, challenge: int) -> None:
    ann = platform.player("ann")
    platform.configure(paused=True)
    reply = answer(ann, challenge)
    assert (reply.status, reply.json["data"]) == (403, {"status": "paused", "message": "Test CTF is paused"})
    platform.configure(paused=False, end=int(platform.now.timestamp()) - 1)
    assert answer(ann, challenge).json == {"message": "Test CTF has ended"}


def test_an_administrator_may_try_the_flags(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, state="hidden")
    make(a_flag, number)
    platform.configure(paused=True)
    admin = platform.admin()
    assert answer(admin, number, query="?preview=true").data == {"status": "correct", "message": "Correct"}
    assert answer(admin, number, "no", query="?preview=true").data["status"] == "incorrect"
    assert answer(admin, 999, query="?preview=true").status == 404
    assert answer(admin, number, query="?preview=").status == 403
    platform.configure(paused=False)
    assert answer(platform.player("ann"), number, query="?preview=true").status == 404
    assert stored(platform) == []


def test_a_hill_is_not_won_by_a_flag(platform: MemoryPlatform) -> None:
    settings = {"url": "http://198.51.100.7:31337/status", "interval": 60, "reward": 10}
    hill = platform.admin().post("/api/v1/challenges", {"name": "hill", "type": "koth", **settings}).data["id"]
    told = answer(platform.player("ann"), hill, "x").data
    assert told["status"] == "incorrect"
    assert "hill" in told["message"]


@pytest.mark.parametrize("number", [10**12, "9" * 5000])
def test_a_setting_that_no_event_needs_stops_no_event(platform: MemoryPlatform, make: Make, number: object) -> None:
    challenge, ann, admin = make(a_challenge, max_attempts=1), platform.player("ann"), platform.admin()
    names = ("max_attempts_timeout", "freeze", "end", "incorrect_submissions_per_min")
    body = {"max_attempts_behavior": "timeout", **dict.fromkeys(names, number)}
    assert admin.patch("/api/v1/configs", body).status == 200
    assert answer(ann, challenge).data["status"] == "incorrect"
    assert answer(ann, challenge).status == 429
    for path in ("/api/v1/challenges", f"/api/v1/challenges/{challenge}", "/api/v1/scoreboard", "/challenges"):
        assert ann.get(path).status == 200
