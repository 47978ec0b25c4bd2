"""/api/v1/tags."""

from collections.abc import Callable
from typing import Any

import pytest

from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge

TAGS = "/api/v1/tags"
Make = Callable[..., Any]


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann, one = platform.player("ann"), f"{TAGS}/{platform.admin().post(TAGS, {}).data['id']}"
    replies = (ann.get(TAGS), ann.post(TAGS, {}), ann.get(one), ann.patch(one, {}), ann.delete(one))
    assert [reply.status for reply in replies] == [403] * 5


@pytest.mark.parametrize("name", ["challenge_id", "challenge"])
def test_a_tag_comes_changes_and_goes_at_once(platform: MemoryPlatform, make: Make, name: str) -> None:
    admin, ann, number = platform.admin(), platform.player("ann"), make(a_challenge)

    def shown() -> list[str]:
        return [tag["value"] for tag in ann.get("/api/v1/challenges").data[0]["tags"]]

    assert shown() == []
    made = admin.post(TAGS, {name: str(number), "value": "easy", "nonsense": 1}).data
    assert made == {"id": made["id"], "challenge_id": number, "challenge": number, "value": "easy"}
    assert shown() == ["easy"]
    admin.post(TAGS, {name: number, "value": "easy"})
    assert shown() == ["easy", "easy"]
    one = f"{TAGS}/{made['id']}"
    assert admin.get(one).data == made
    assert admin.patch(one, {}).data == made
    assert admin.patch(one, {"value": "hard"}).data == {**made, "value": "hard"}
    assert shown() == ["hard", "easy"]
    assert admin.delete(one).json == {"success": True}
    assert shown() == ["easy"]
    for reply in (admin.get(one), admin.patch(one, {"value": "x"}), admin.delete(one), admin.get(f"{TAGS}/x")):
        assert reply.status == 404
        assert list(reply.json) == ["message"]


def test_what_a_tag_can_not_be(platform: MemoryPlatform, make: Make) -> None:
    admin = platform.admin()
    assert admin.post(TAGS, {"value": "x" * 81, "challenge": "x"}).errors == {
        "value": ["Longer than maximum length 80."],
        "challenge": ["Not a valid integer."],
    }
    assert admin.post(TAGS, {"value": "x", "challenge": 999}).status == 500
    made = admin.post(TAGS, {"challenge": make(a_challenge)}).data
    assert made["value"] is None
    assert admin.patch(f"{TAGS}/{made['id']}", {"challenge_id": 999}).status == 500
    assert admin.get(TAGS).data == [made]


def test_tags_are_found(platform: MemoryPlatform, make: Make) -> None:
    admin, first, second = platform.admin(), make(a_challenge), make(a_challenge)
    for number, value in ((first, "easy"), (second, "easy"), (second, "web")):
        admin.post(TAGS, {"challenge_id": number, "value": value})

    def found(query: str) -> list[int]:
        return [tag["id"] for tag in admin.get(f"{TAGS}?{query}").data]

    assert found("") == found("q=easy") == found("field=value") == found("q=&field=value") == [1, 2, 3]
    assert found(f"challenge_id={second}") == found(f"q={second}&field=challenge_id") == [2, 3]
    assert found("value=easy") == found("q=eas&field=value") == [1, 2]
    assert found("q=x&field=challenge_id") == found(f"q={2**70}&field=challenge_id") == []
    assert admin.get(f"{TAGS}?field=id").errors == {
        "field": "value is not a valid enumeration member; permitted: 'challenge_id', 'value'"
    }
