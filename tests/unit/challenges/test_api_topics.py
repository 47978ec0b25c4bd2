"""/api/v1/topics."""

from collections.abc import Callable
from typing import Any

import pytest

from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge

TOPICS = "/api/v1/topics"
Make = Callable[..., Any]


def links(client: Client, challenge_id: int) -> list[tuple[int, str]]:
    shown = client.get(f"/api/v1/challenges/{challenge_id}/topics").data
    return [(link["id"], link["value"]) for link in shown]


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    replies = (
        ann.get(TOPICS),
        ann.post(TOPICS, {"type": "challenge"}),
        ann.delete(f"{TOPICS}?type=challenge&target_id=1"),
        ann.get(f"{TOPICS}/1"),
        ann.delete(f"{TOPICS}/1"),
    )
    assert [reply.status for reply in replies] == [403] * 5


@pytest.mark.parametrize("name", ["challenge_id", "challenge"])
def test_challenges_share_topics(platform: MemoryPlatform, make: Make, name: str) -> None:
    admin, first, second = platform.admin(), make(a_challenge), make(a_challenge)
    made = admin.post(TOPICS, {"type": "challenge", name: first, "value": "RSA"}).data
    topic = made["topic_id"]
    assert made == {"id": made["id"], "challenge_id": first, "challenge": first, "topic_id": topic, "topic": topic}
    for body in ({"value": "RSA"}, {"topic_id": topic}, {"value": "", "topic_id": str(topic)}):
        assert admin.post(TOPICS, {"type": "challenge", name: second, **body}).data["topic"] == topic
    assert admin.get(TOPICS).data == [{"id": topic, "value": "RSA"}]
    assert admin.get(f"{TOPICS}/{topic}").data == {"id": topic, "value": "RSA"}
    assert links(admin, first) == [(made["id"], "RSA")]
    assert [value for _, value in links(admin, second)] == ["RSA"] * 3


def test_what_can_not_be_linked_leaves_nothing(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    for type_ in ("page", None):
        reply = admin.post(TOPICS, {"type": type_, "challenge_id": number, "value": "RSA"})
        assert (reply.status, reply.json) == (400, {"success": False})
    for body in ({}, {"value": ""}, {"value": None, "topic_id": None}, {"topic_id": 999}):
        assert admin.post(TOPICS, {"type": "challenge", "challenge_id": number, **body}).status == 404
    assert admin.post(TOPICS, {"type": "challenge", "value": "RSA"}).errors == {
        "challenge_id": ["Missing data for required field."]
    }
    assert admin.post(TOPICS, {"type": "challenge", "challenge_id": number, "value": "x" * 256}).errors == {
        "value": ["Longer than maximum length 255."]
    }
    assert admin.post(TOPICS, {"type": "challenge", "challenge_id": 999, "value": "RSA"}).status == 500
    assert admin.get(TOPICS).data == []


def test_a_link_goes_and_the_topic_stays(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    link = admin.post(TOPICS, {"type": "challenge", "challenge_id": number, "value": "RSA"}).data["id"]
    for query in ("", f"?target_id={link}", f"?type=page&target_id={link}"):
        reply = admin.delete(TOPICS + query)
        assert (reply.status, reply.json) == (400, {"success": False})
    assert admin.delete(f"{TOPICS}?type=challenge&target_id=x").errors == {"target_id": "value is not a valid integer"}
    assert admin.delete(f"{TOPICS}?type=challenge&target_id=999").status == 404
    assert admin.delete(f"{TOPICS}?type=challenge").status == 404
    assert admin.delete(f"{TOPICS}?type=challenge&target_id={link}").json == {"success": True}
    assert links(admin, number) == []
    assert len(admin.get(TOPICS).data) == 1


def test_a_topic_goes_with_its_links(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    topic = admin.post(TOPICS, {"type": "challenge", "challenge_id": number, "value": "RSA"}).data["topic_id"]
    assert admin.delete(f"{TOPICS}/{topic}").json == {"success": True}
    assert links(admin, number) == []
    for reply in (admin.get(f"{TOPICS}/{topic}"), admin.delete(f"{TOPICS}/{topic}"), admin.get(f"{TOPICS}/x")):
        assert reply.status == 404


def test_topics_are_found(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    for value in ("RSA", "RSA-CRT", "web"):
        admin.post(TOPICS, {"type": "challenge", "challenge_id": number, "value": value})

    def found(query: str) -> list[str]:
        return [topic["value"] for topic in admin.get(f"{TOPICS}?{query}").data]

    assert found("value=RSA") == ["RSA"]
    assert found("q=RSA&field=value") == ["RSA", "RSA-CRT"]
    assert admin.get(f"{TOPICS}?field=id").errors == {
        "field": "value is not a valid enumeration member; permitted: 'value'"
    }
