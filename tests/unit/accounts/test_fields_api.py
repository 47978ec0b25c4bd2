"""/api/v1/configs/fields."""

from __future__ import annotations

from sqlalchemy import func, select

from ctfd_twisted.accounts.tables import field_entries
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.testing import MemoryPlatform

FIELDS = "/api/v1/configs/fields"


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    one = f"{FIELDS}/{platform.admin().post(FIELDS, {}).data['id']}"
    replies = (ann.get(FIELDS), ann.post(FIELDS, {}), ann.get(one), ann.patch(one, {}), ann.delete(one))
    assert [reply.status for reply in replies] == [403] * 5


def test_a_field_is_defined_read_and_changed(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    empty = admin.post(FIELDS, {}).data
    assert empty == {
        "id": empty["id"],
        "name": None,
        "type": "standard",
        "field_type": None,
        "description": None,
        "required": False,
        "public": False,
        "editable": False,
    }
    body = {"name": "Size", "type": "user", "field_type": "text", "description": "of shirt", "required": "true"}
    made = admin.post(FIELDS, {**body, "public": 1, "editable": None}).data
    assert made == {**empty, **body, "id": made["id"], "required": True, "public": True}
    assert admin.get(FIELDS).data == [empty, made]
    one = f"{FIELDS}/{made['id']}"
    assert admin.get(one).data == made
    assert admin.patch(one, {"editable": True}).data == {**made, "editable": True}
    assert admin.patch(one, {}).data == {**made, "editable": True}


def test_what_a_field_can_not_be(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    assert admin.post(FIELDS, {"required": "maybe", "name": 5}).errors == {
        "required": ["Not a valid boolean."],
        "name": ["Not a valid string."],
    }
    assert admin.post(FIELDS, {"type": "person", "field_type": "date"}).errors == {
        "type": ["Must be one of: user, team, standard."],
        "field_type": ["Must be one of: text, boolean."],
    }
    assert admin.get(FIELDS).data == []
    assert [admin.get(f"{FIELDS}/{number}").status for number in ("7", "x")] == [404, 404]
    assert admin.patch(f"{FIELDS}/7", {"name": "x"}).status == 404
    assert admin.delete(f"{FIELDS}/7").status == 404


def test_fields_are_found(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    for type_, description in (("user", "of shirt"), ("team", "of table"), ("user", None)):
        admin.post(FIELDS, {"type": type_, "description": description})

    def found(query: str) -> list[int]:
        return [field["id"] for field in admin.get(f"{FIELDS}?{query}").data]

    assert found("type=user") == [1, 3]
    assert found("q=of&field=description") == [1, 2]
    assert admin.get(f"{FIELDS}?q=x&field=name").errors == {
        "field": "value is not a valid enumeration member; permitted: 'description'"
    }


def test_a_field_asks_at_once_and_takes_its_answers_along(platform: MemoryPlatform) -> None:
    admin, ann = platform.admin(), platform.player("ann")
    page = ann.get("/challenges", content_type=None)
    assert page.status == 200
    body = {"name": "Size", "type": "user", "field_type": "text", "required": True, "public": True, "editable": True}
    number = admin.post(FIELDS, body).data["id"]
    assert ann.get("/challenges").location == "/settings"
    answer = {"fields": [{"field_id": number, "value": "M"}]}
    assert ann.patch("/api/v1/users/me", answer).data["fields"][0]["value"] == "M"
    assert ann.get("/challenges").status == 200
    assert admin.delete(f"{FIELDS}/{number}").json == {"success": True}
    assert ann.get("/api/v1/users/me").data["fields"] == []
    assert platform.run(lambda conn: conn.scalar(select(func.count()).select_from(field_entries))) == 0


def test_a_setting_called_fields_does_not_stand_in_the_way(platform: MemoryPlatform) -> None:
    platform.run(write_config, {"fields": "x"})
    assert platform.admin().get(FIELDS).data == []
