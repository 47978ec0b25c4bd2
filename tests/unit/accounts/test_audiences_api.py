"""``/api/v1/audiences``."""

from __future__ import annotations

import pytest

from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_team, a_user

AUDIENCES = "/api/v1/audiences"
NOT_A_MEMBER = {"": ["There is no such account, or it is in this audience already"]}


def test_all_of_it_is_for_administrators(platform: MemoryPlatform, admin: Client) -> None:
    ann, one = platform.player("ann"), f"{AUDIENCES}/{admin.post(AUDIENCES, {'name': 'x'}).data['id']}"
    replies = (
        ann.get(AUDIENCES),
        ann.post(AUDIENCES, {}),
        ann.get(one),
        ann.patch(one, {}),
        ann.delete(one),
        ann.get(f"{one}/members"),
        ann.post(f"{one}/members", {}),
        ann.delete(f"{one}/members/1"),
    )
    assert [reply.status for reply in replies] == [403] * 8


def test_an_audience_is_made_changed_and_removed(admin: Client) -> None:
    made = admin.post(AUDIENCES, {"name": "Finalists"}).data
    assert made == {"id": made["id"], "name": "Finalists", "description": None, "type": "standard"}
    one = f"{AUDIENCES}/{made['id']}"
    body = {"name": "Winners", "description": "of the day", "type": "standard"}
    assert admin.patch(one, body).data == admin.get(one).data == {**made, **body}
    assert admin.patch(one, {"name": "Last"}).data == {**made, **body, "name": "Last"}
    assert admin.delete(one).json == {"success": True}
    gone = (admin.get(one), admin.patch(one, body), admin.delete(one), admin.get(f"{one}/members"))
    assert [reply.status for reply in (*gone, admin.post(f"{one}/members", {"user_id": 1}))] == [404] * 5


@pytest.mark.parametrize("method", ["post", "patch"])
def test_an_audience_has_a_name_and_the_one_type(admin: Client, method: str) -> None:
    one = f"{AUDIENCES}/{admin.post(AUDIENCES, {'name': 'x'}).data['id']}"
    send = admin.post if method == "post" else admin.patch
    path = AUDIENCES if method == "post" else one
    assert send(path, {"description": "d"}).errors == {"name": ["Missing data for required field."]}
    assert send(path, {"name": None}).errors == {"name": ["Field may not be null."]}
    assert send(path, {"name": "x" * 81}).errors == {"name": ["Longer than maximum length 80."]}
    assert send(path, {"name": "x", "type": "other"}).errors == {"type": ["Must be standard."]}
    assert [audience["type"] for audience in admin.get(AUDIENCES).data] == ["standard"]


def test_audiences_are_found(admin: Client) -> None:
    for name, description in (("Pupils", "under 18"), ("Students", None)):
        admin.post(AUDIENCES, {"name": name, "description": description})

    def found(query: str) -> list[int]:
        return [audience["id"] for audience in admin.get(f"{AUDIENCES}?{query}").data]

    assert found("") == found("type=standard") == [1, 2]
    assert found("name=Pupils") == found("q=18&field=description") == [1]
    assert found("type=other") == []
    assert list(admin.get(f"{AUDIENCES}?field=type").errors) == ["field"]


def test_users_and_teams_are_members(platform: MemoryPlatform, admin: Client) -> None:
    user, team = platform.run(a_user), platform.run(a_team)
    members = f"{AUDIENCES}/{admin.post(AUDIENCES, {'name': 'x'}).data['id']}/members"
    first = admin.post(members, {"user_id": str(user)}).data
    second = admin.post(members, {"team_id": team, "user_id": None}).data
    assert first == {"id": first["id"], "audience_id": 1, "user_id": user, "team_id": None}
    assert second == {"id": second["id"], "audience_id": 1, "user_id": None, "team_id": team}
    assert admin.get(members).data == [first, second]
    assert admin.delete(f"{members}/{first['id']}").json == {"success": True}
    assert admin.delete(f"{members}/{first['id']}").status == 404
    assert admin.get(members).data == [second]


def test_who_can_not_be_a_member(platform: MemoryPlatform, admin: Client) -> None:
    user = platform.run(a_user)
    members = f"{AUDIENCES}/{admin.post(AUDIENCES, {'name': 'x'}).data['id']}/members"
    for body in ({}, {"user_id": None}, {"user_id": 0}):
        assert admin.post(members, body).errors == {"": ["Either user_id or team_id is required"]}
    assert admin.post(members, {"user_id": 999}).errors == NOT_A_MEMBER
    admin.post(members, {"user_id": user})
    assert admin.post(members, {"user_id": user}).errors == NOT_A_MEMBER
    assert admin.post(members, {"user_id": "ann"}).errors == {"user_id": ["Not a valid integer."]}
    assert len(admin.get(members).data) == 1


def test_a_membership_is_removed_from_its_own_audience(platform: MemoryPlatform, admin: Client) -> None:
    first, second = (f"{AUDIENCES}/{admin.post(AUDIENCES, {'name': name}).data['id']}" for name in "ab")
    member = admin.post(f"{first}/members", {"user_id": platform.run(a_user)}).data["id"]
    assert admin.delete(f"{second}/members/{member}").status == 404
    assert len(admin.get(f"{first}/members").data) == 1
