"""/api/v1/notifications: what the organisers had to say."""

from typing import Any

import pytest

from ctfd_twisted.content.notices_store import Delivery, announced, announcement
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_user

ALL = "/api/v1/notifications"


def test_a_notification_is_made_read_and_removed(platform: MemoryPlatform) -> None:
    admin, visitor = platform.admin(), platform.client()
    made = admin.post(ALL, {"title": "t", "content": "**c** of {ctf_name}", "type": "toast", "sound": False}).data
    stored = {
        "id": 1,
        "title": "t",
        "content": "**c** of {ctf_name}",
        "html": "<p><strong>c</strong> of Test CTF</p>\n",
        "date": "2026-03-14T15:00:00+00:00",
        "user_id": None,
        "team_id": None,
        "user": None,
        "team": None,
    }
    assert made == {**stored, "type": "toast", "sound": False}
    assert visitor.get(ALL).data == [stored]
    assert visitor.get(f"{ALL}/1").data == stored
    platform.configure(ctf_name="Other")
    assert visitor.get(ALL).data[0]["html"] == "<p><strong>c</strong> of Other</p>\n"
    assert admin.delete(f"{ALL}/1").json == {"success": True}
    assert visitor.get(ALL).data == []
    for path in ("1", "x"):
        assert visitor.get(f"{ALL}/{path}").status == admin.delete(f"{ALL}/{path}").status == 404
        assert admin.patch(f"{ALL}/{path}", {}).status == 404


def test_nothing_has_to_be_said(platform: MemoryPlatform) -> None:
    made = platform.admin().post(ALL, {"date": "2000-01-01", "id": 9}).data
    assert (made["id"], made["title"], made["type"], made["sound"]) == (1, None, "alert", True)
    assert made["date"].startswith("2026")
    assert "html" not in made
    assert "html" not in platform.client().get(f"{ALL}/1").data


def test_only_administrators_speak(platform: MemoryPlatform) -> None:
    platform.admin().post(ALL, {"title": "t"})
    ann = platform.player("ann")
    assert ann.post(ALL, {"title": "spam"}).status == ann.delete(f"{ALL}/1").status == 403
    assert len(platform.client().get(ALL).data) == 1


def test_wrong_fields(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    assert admin.post(ALL, {"title": 1, "user_id": "x", "type": "t" * 33, "sound": "loud"}).errors == {
        "title": ["Not a valid string."],
        "user_id": ["Not a valid integer."],
        "type": ["Longer than maximum length 32."],
        "sound": ["Not a valid boolean."],
    }
    assert admin.post(ALL, {"user_id": 999}).status == 500
    assert admin.get(ALL).data == []


def test_notifications_are_found(platform: MemoryPlatform) -> None:
    admin, client = platform.admin(), platform.client()
    user = platform.run(a_user)
    bodies: tuple[dict[str, Any], ...] = (
        {"title": "one", "content": "pear"},
        {"title": "two", "content": "apple"},
        {"user_id": user},
    )
    for body in bodies:
        admin.post(ALL, body)

    def found(query: str) -> list[int]:
        reply, head = client.get(ALL + query), client.request("HEAD", ALL + query)
        assert (head.status, head.body, head.headers["result-count"]) == (200, b"", str(len(reply.data)))
        return [notice["id"] for notice in reply.data]

    assert found("") == found("?since_id=0") == [1, 2, 3]
    assert found("?since_id=1") == [2, 3]
    assert found("?since_id=9") == []
    assert found("?title=one") == found("?q=ear&field=content") == [1]
    assert found("?content=apple") == found("?q=tw&field=title") == [2]
    assert found(f"?user_id={user}") == [3]
    assert found("?team_id=1") == []
    assert client.get(f"{ALL}?since_id=x").errors == {"since_id": "value is not a valid integer"}
    assert client.get(f"{ALL}?field=id").errors == {
        "field": "value is not a valid enumeration member; permitted: 'title', 'content'"
    }


@pytest.mark.parametrize("delivery", [Delivery(), Delivery("toast", sound=False), Delivery("a:b:c")])
def test_an_announcement_carries_what_is_not_stored(delivery: Delivery) -> None:
    assert announced(announcement(7, delivery)) == (7, delivery)
    assert announced("notifications") is announced("user:7") is None
