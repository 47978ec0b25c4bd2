"""/api/v1/flags."""

from collections.abc import Callable
from typing import Any

import pytest

from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag

FLAGS = "/api/v1/flags"
Make = Callable[..., Any]


def test_all_of_it_is_for_administrators(platform: MemoryPlatform, make: Make) -> None:
    flag = make(a_flag, make(a_challenge))
    ann = platform.player("ann")
    for path in (FLAGS, f"{FLAGS}/{flag}", f"{FLAGS}/types", f"{FLAGS}/types/static"):
        assert ann.get(path).status == 403
    assert ann.post(FLAGS, {"content": "x"}).status == 403
    assert ann.patch(f"{FLAGS}/{flag}", {"content": "x"}).status == 403
    assert ann.delete(f"{FLAGS}/{flag}").status == 403


@pytest.mark.parametrize("name", ["challenge_id", "challenge"])
def test_a_flag_is_made_trimmed(platform: MemoryPlatform, make: Make, name: str) -> None:
    number = make(a_challenge)
    body = {name: str(number), "type": "static", "content": " flag{x}\n", "data": "case_insensitive"}
    made = platform.admin().post(FLAGS, body).data
    expected = {
        "id": made["id"],
        "challenge_id": number,
        "challenge": number,
        "type": "static",
        "content": "flag{x}",
        "data": "case_insensitive",
    }
    assert made == expected
    assert platform.admin().get(f"{FLAGS}/{made['id']}").data == {
        **expected,
        "templates": {
            "create": "/plugins/flags/assets/static/create.html",
            "update": "/plugins/flags/assets/static/edit.html",
        },
    }


def test_what_a_flag_can_not_be(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    assert admin.post(FLAGS, {"challenge_id": number, "type": "static"}).status == 500
    assert admin.post(FLAGS, {"challenge_id": number, "type": "regex", "content": None}).status == 500
    assert admin.post(FLAGS, {"challenge_id": 999, "type": "static", "content": "x"}).status == 500
    reply = admin.post(FLAGS, {"type": "x" * 81, "challenge_id": "x", "content": 5})
    assert reply.errors == {
        "type": ["Longer than maximum length 80."],
        "challenge_id": ["Not a valid integer."],
        "content": ["Not a valid string."],
    }
    assert admin.get(FLAGS).data == []
    assert admin.post(FLAGS, {"type": "other"}).data["content"] is None


def test_a_change_is_partial_and_counts_at_once(platform: MemoryPlatform, make: Make) -> None:
    number, ann = make(a_challenge), platform.player("ann")
    flag = make(a_flag, number, "old", data="case_insensitive")
    changed = platform.admin().patch(f"{FLAGS}/{flag}", {"content": " new "}).data
    assert (changed["content"], changed["data"], changed["type"]) == ("new", "case_insensitive", "static")
    assert "templates" not in changed
    answer = {"challenge_id": number, "submission": "NEW"}
    assert ann.post("/api/v1/challenges/attempt", answer).data["status"] == "correct"


def test_flags_are_listed_by_id_and_found(platform: MemoryPlatform, make: Make) -> None:
    first, second = make(a_challenge), make(a_challenge)
    one = make(a_flag, second, "flag{one}")
    two = make(a_flag, first, "two.*", type="regex", data="case_insensitive")
    admin = platform.admin()

    def found(query: str) -> list[int]:
        return [flag["id"] for flag in admin.get(FLAGS + query).data]

    assert found("") == [one, two]
    assert found(f"?challenge_id={first}") == [two]
    assert found("?type=static") == [one]
    assert found("?content=two.*&data=case_insensitive") == [two]
    assert found("?q=one&field=content") == [one]
    assert found("?q=one") == [one, two]
    assert admin.get(f"{FLAGS}?challenge_id=x").errors == {"challenge_id": "value is not a valid integer"}
    assert admin.get(f"{FLAGS}?field=id").errors == {
        "field": "value is not a valid enumeration member; permitted: 'type', 'content', 'data'"
    }


def test_a_flag_goes(platform: MemoryPlatform, make: Make) -> None:
    admin, flag = platform.admin(), make(a_flag, make(a_challenge))
    assert admin.delete(f"{FLAGS}/{flag}").json == {"success": True}
    for reply in (admin.get(f"{FLAGS}/{flag}"), admin.delete(f"{FLAGS}/{flag}"), admin.patch(f"{FLAGS}/x", {})):
        assert reply.status == 404


def test_a_flag_of_a_kind_that_is_not_installed(platform: MemoryPlatform, make: Make) -> None:
    assert platform.admin().get(f"{FLAGS}/{make(a_flag, make(a_challenge), type='gone')}").status == 500


def test_the_types(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    regex = {
        "name": "regex",
        "templates": {
            "create": "/plugins/flags/assets/regex/create.html",
            "update": "/plugins/flags/assets/regex/edit.html",
        },
    }
    types = admin.get(f"{FLAGS}/types").data
    assert types["regex"] == regex
    assert types["static"]["name"] == "static"
    assert admin.get(f"{FLAGS}/types/regex").data == regex
    assert admin.get(f"{FLAGS}/types/gone").status == 404
