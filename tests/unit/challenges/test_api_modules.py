"""/api/v1/modules, and what they and audiences do to who sees a challenge."""

from collections.abc import Callable
from typing import Any

import pytest

from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_team

MODULES = "/api/v1/modules"
AUDIENCES = "/api/v1/audiences"
Make = Callable[..., Any]


def made(admin: Client, path: str, name: str = "x") -> str:
    return f"{path}/{admin.post(path, {'name': name}).data['id']}"


def listed(client: Client) -> list[int]:
    return [challenge["id"] for challenge in client.get("/api/v1/challenges").data]


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann, one = platform.player("ann"), made(platform.admin(), MODULES)
    replies = [ann.get(path) for path in (MODULES, one, f"{one}/challenges", f"{one}/audiences")]
    replies += [ann.post(path, {}) for path in (MODULES, f"{one}/challenges", f"{one}/audiences")]
    replies += [ann.patch(one, {}), ann.delete(one), ann.delete(f"{one}/audiences/1")]
    assert [reply.status for reply in replies] == [403] * 10


def test_a_module_is_made_changed_and_removed(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    module = admin.post(MODULES, {"name": "Finals"}).data
    assert module == {"id": module["id"], "name": "Finals", "description": None}
    one = f"{MODULES}/{module['id']}"
    body = {"name": "Final", "description": "of the day"}
    assert admin.patch(one, body).data == admin.get(one).data == {**module, **body}
    for reply in (admin.post(MODULES, {}), admin.patch(one, {"description": "d"})):
        assert (reply.status, reply.errors) == (400, {"name": ["Missing data for required field."]})
    assert admin.post(MODULES, {"name": "x" * 81}).errors == {"name": ["Longer than maximum length 80."]}
    assert admin.delete(one).json == {"success": True}
    assert admin.get(MODULES).data == []


def test_there_is_nothing_below_an_unknown_module(platform: MemoryPlatform, make: Make) -> None:
    admin, challenge = platform.admin(), make(a_challenge)
    one = f"{MODULES}/9"
    replies = [admin.get(path) for path in (one, f"{one}/challenges", f"{one}/audiences", f"{MODULES}/{2**80}")]
    replies += [admin.patch(one, {"name": "x"}), admin.delete(one), admin.delete(f"{one}/audiences/1")]
    replies += [
        admin.post(f"{one}/challenges", {"challenge_id": challenge}),
        admin.post(f"{one}/audiences", {"audience_id": 1}),
        admin.post(f"{one}/challenges", {}),
        admin.post(f"{one}/audiences", {}),
    ]
    assert [reply.status for reply in replies] == [404] * 11


def test_modules_are_found(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    for name, description in (("Heats", "easy"), ("Finals", None)):
        admin.post(MODULES, {"name": name, "description": description})

    def found(query: str) -> list[int]:
        return [module["id"] for module in admin.get(f"{MODULES}?{query}").data]

    assert found("") == [1, 2]
    assert found("name=Finals") == found("q=nal&field=name") == [2]
    assert found("q=eas&field=description") == [1]


def test_a_challenge_is_in_one_module(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge, name="one", category="web")
    first, second = made(admin, MODULES, "a"), made(admin, MODULES, "b")
    placed = admin.post(f"{first}/challenges", {"challenge_id": str(number)}).data
    assert placed == {"id": number, "name": "one", "category": "web", "module_id": 1}
    assert admin.get(f"{first}/challenges").data == [placed]
    assert admin.post(f"{second}/challenges", {"challenge_id": number}).data == {**placed, "module_id": 2}
    assert admin.get(f"{first}/challenges").data == []
    for body in ({}, {"challenge_id": None}):
        assert admin.post(f"{first}/challenges", body).errors == {"challenge_id": ["challenge_id is required"]}
    assert admin.post(f"{first}/challenges", {"challenge_id": 999}).status == 404
    admin.patch(f"/api/v1/challenges/{number}", {"module_id": None})
    assert admin.get(f"{second}/challenges").data == []


def test_a_module_is_opened_to_an_audience_once(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    module, _ = made(admin, MODULES), made(admin, AUDIENCES)
    links = f"{module}/audiences"
    link = admin.post(links, {"audience_id": 1}).data
    assert link == {"id": link["id"], "module_id": 1, "audience_id": 1}
    assert admin.get(links).data == [link]
    twice = {"audience_id": ["There is no such audience, or the module is opened to it already"]}
    assert [admin.post(links, {"audience_id": number}).errors for number in (1, 9)] == [twice, twice]
    assert admin.post(links, {}).errors == {"audience_id": ["audience_id is required"]}
    assert admin.post(links, {"audience_id": "x"}).errors == {"audience_id": ["Not a valid integer."]}
    assert admin.delete(f"{links}/1").json == {"success": True}
    assert admin.delete(f"{links}/1").status == 404


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_what_is_opened_and_closed_counts_from_the_next_request(
    platform: MemoryPlatform, make: Make, mode: str
) -> None:
    platform.configure(user_mode=mode)
    admin, number = platform.admin(), make(a_challenge)
    make(a_flag, number)
    team = make(a_team)
    ann, ben = platform.player("ann", team_id=team), platform.player("ben", team_id=make(a_team))
    who = {"team_id": team} if mode == "teams" else {"user_id": ann.get("/api/v1/users/me").data["id"]}
    module, audience = made(admin, MODULES), made(admin, AUDIENCES)

    def sees(client: Client) -> bool:
        body = {"challenge_id": number, "submission": "flag{wrong}"}
        answers = {
            bool(listed(client)),
            client.get(f"/api/v1/challenges/{number}").status == 200,
            client.post("/api/v1/challenges/attempt", body).status == 200,
        }
        assert len(answers) == 1
        return answers.pop()

    assert sees(ann)
    admin.post(f"{module}/challenges", {"challenge_id": number})
    assert not sees(ann)
    admin.post(f"{module}/audiences", {"audience_id": 1})
    assert not sees(ann)
    member = admin.post(f"{audience}/members", who).data["id"]
    assert (sees(ann), sees(ben)) == (True, False)
    admin.delete(f"{audience}/members/{member}")
    assert not sees(ann)
    admin.post(f"{audience}/members", who)
    assert sees(ann)
    admin.delete(f"{module}/audiences/1")
    assert not sees(ann)
    admin.post(f"{module}/audiences", {"audience_id": 1})
    assert sees(ann)
    admin.delete(audience)
    assert not sees(ann)
    assert admin.get(f"{module}/audiences").data == []
    admin.delete(module)
    assert (sees(ann), sees(ben)) == (True, True)


def test_a_newcomer_is_not_a_member_in_the_place_of_somebody_deleted(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    module, audience = made(admin, MODULES), made(admin, AUDIENCES)
    admin.post(f"{module}/challenges", {"challenge_id": number})
    admin.post(f"{module}/audiences", {"audience_id": 1})
    ann = platform.player("ann")
    number_of_ann = ann.get("/api/v1/users/me").data["id"]
    admin.post(f"{audience}/members", {"user_id": number_of_ann})
    assert listed(ann) == [number]
    admin.delete(f"/api/v1/users/{number_of_ann}")
    ben = platform.player("ben", id=number_of_ann)
    assert listed(ben) == []
