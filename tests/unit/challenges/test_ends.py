"""The end of one challenge: it takes no answers from then on, and stays what it was for everybody who sees it."""

from datetime import UTC, datetime, timedelta

import pytest

from ctfd_twisted.challenges.rules import has_ended
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_flag
from tests.unit.conftest import Make

CHALLENGES = "/api/v1/challenges"
HOUR = timedelta(hours=1)


def wire(instant: datetime) -> str:
    return instant.replace(tzinfo=None).isoformat()


@pytest.fixture
def challenge(platform: MemoryPlatform, make: Make) -> int:
    """A challenge that ends in an hour."""
    made = platform.admin().post(CHALLENGES, {"name": "Daily", "value": 5, "ends_at": wire(platform.now + HOUR)}).data
    make(a_flag, made["id"])
    number: int = made["id"]
    return number


def answer(client: Client, challenge_id: int, submission: str = "flag{right}") -> tuple[int, object]:
    reply = client.post(f"{CHALLENGES}/attempt", {"challenge_id": challenge_id, "submission": submission})
    return reply.status, reply.json.get("message") or reply.json["data"]["status"]


def test_the_instant_itself_is_the_end() -> None:
    end = datetime(2026, 3, 14, tzinfo=UTC)
    assert [has_ended(end, end + timedelta(seconds=offset)) for offset in (-1, 0, 1)] == [False, True, True]
    assert not has_ended(None, end)


def test_answers_count_before_the_end_and_are_refused_from_then_on(platform: MemoryPlatform, challenge: int) -> None:
    ann, ben = platform.player("ann"), platform.player("ben")
    platform.clock.advance(3599)
    assert answer(ann, challenge) == (200, "correct")
    platform.clock.advance(1)
    for client in (ann, ben, platform.admin()):
        assert answer(client, challenge) == (403, "Daily has ended")
    assert [solve["name"] for solve in ben.get(f"{CHALLENGES}/{challenge}/solves").data] == ["ann"]


def test_an_administrator_still_tries_the_flags(platform: MemoryPlatform, challenge: int) -> None:
    platform.clock.advance(7200)
    body = {"challenge_id": challenge, "submission": "flag{right}"}
    assert platform.admin().post(f"{CHALLENGES}/attempt?preview=1", body).data["status"] == "correct"


def test_what_ended_is_still_seen_and_says_when_it_did(platform: MemoryPlatform, challenge: int) -> None:
    ann = platform.player("ann")
    end = wire(platform.now + HOUR)
    before = ann.get(f"{CHALLENGES}/{challenge}").data
    listed = ann.get(CHALLENGES).body
    platform.clock.advance(3600)
    after = ann.get(f"{CHALLENGES}/{challenge}").data
    assert before["ends_at"] == after["ends_at"] == end
    assert ann.get(CHALLENGES).body == listed
    assert ("challenge-input" in before["view"], "challenge-input" in after["view"]) == (True, False)


def test_an_end_is_moved_and_lifted_at_once(platform: MemoryPlatform, challenge: int) -> None:
    admin, ann = platform.admin(), platform.player("ann")
    platform.clock.advance(3600)
    assert answer(ann, challenge, "no")[0] == 403
    moved = admin.patch(f"{CHALLENGES}/{challenge}", {"ends_at": "2026-03-14T18:00:00+01:00"}).data
    assert moved["ends_at"] == "2026-03-14T17:00:00"
    assert answer(ann, challenge, "no") == (200, "incorrect")
    assert admin.patch(f"{CHALLENGES}/{challenge}", {"name": "Weekly"}).data["ends_at"] == "2026-03-14T17:00:00"
    assert admin.patch(f"{CHALLENGES}/{challenge}", {"ends_at": None}).data["ends_at"] is None
    platform.clock.advance(36_000)
    assert answer(ann, challenge) == (200, "correct")


@pytest.mark.parametrize(
    ("scheduled_at", "ends_at", "message"),
    [
        ("2030-01-01T00:00:00", "2030-01-01T00:00:00", "The end must come after the release"),
        ("2030-01-02T00:00:00", "2030-01-01T00:00:00", "The end must come after the release"),
        (None, "", "Not a valid datetime."),
        (None, "soon", "Not a valid datetime."),
        (None, 5, "Not a valid datetime."),
    ],
)
def test_what_can_not_be_an_end(
    platform: MemoryPlatform, challenge: int, scheduled_at: str | None, ends_at: object, message: str
) -> None:
    admin = platform.admin()
    body = {"name": "x", "scheduled_at": scheduled_at, "ends_at": ends_at}
    for reply in (admin.post(CHALLENGES, body), admin.patch(f"{CHALLENGES}/{challenge}", body)):
        assert (reply.status, reply.errors) == (400, {"ends_at": [message]})
    assert [one["name"] for one in admin.get(f"{CHALLENGES}?view=admin").data] == ["Daily"]


def test_a_release_does_not_come_after_the_end_that_is_set(platform: MemoryPlatform, challenge: int) -> None:
    later = wire(platform.now + 2 * HOUR)
    reply = platform.admin().patch(f"{CHALLENGES}/{challenge}", {"scheduled_at": later})
    assert (reply.status, reply.errors) == (400, {"ends_at": ["The end must come after the release"]})


def test_a_deleted_challenge_leaves_no_end_to_the_next_of_its_id(platform: MemoryPlatform, challenge: int) -> None:
    admin = platform.admin()
    assert admin.delete(f"{CHALLENGES}/{challenge}").json == {"success": True}
    assert admin.post(CHALLENGES, {"id": challenge, "name": "new"}).data["ends_at"] is None
