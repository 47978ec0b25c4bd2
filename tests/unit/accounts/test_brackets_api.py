"""``/api/v1/brackets``."""

from __future__ import annotations

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import an_award

BRACKETS = "/api/v1/brackets"


def test_all_brackets_are_listed_filtered_and_searched(platform: MemoryPlatform) -> None:
    def some(conn: Connection) -> None:
        for name, of in (("Students", "users"), ("Companies", "teams"), (None, None)):
            insert_row(conn, brackets, {"name": name, "description": None, "type": of})

    platform.run(some)
    client = platform.client()

    def ids(query: str) -> list[int]:
        return [bracket["id"] for bracket in client.get(f"/api/v1/brackets?{query}").data]

    assert client.get("/api/v1/brackets").data[0] == {"id": 1, "name": "Students", "description": None, "type": "users"}
    assert ids("") == [1, 2, 3]
    assert ids("type=teams") == [2]
    assert ids("name=Students&type=teams") == []
    assert ids("q=tud&field=name") == [1]
    assert ids("q=tud") == ids("field=name") == [1, 2, 3]
    assert list(client.get("/api/v1/brackets?field=id&q=1").errors) == ["field"]


def test_only_administrators_change_brackets(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    one = f"{BRACKETS}/{platform.admin().post(BRACKETS, {}).data['id']}"
    assert [reply.status for reply in (ann.post(BRACKETS, {}), ann.patch(one, {}), ann.delete(one))] == [403] * 3


def test_a_bracket_is_made_and_changed(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    empty = admin.post(BRACKETS, {}).data
    assert empty == {"id": empty["id"], "name": None, "description": None, "type": None}
    one = f"{BRACKETS}/{empty['id']}"
    body = {"name": "Students", "description": "with a card", "type": "users"}
    assert admin.patch(one, body).data == {**empty, **body}
    assert admin.patch(one, {"description": None}).data == {**empty, **body, "description": None}
    assert admin.patch(one, {}).data["name"] == "Students"
    assert admin.post(BRACKETS, {"name": "x" * 256, "type": 5}).errors == {
        "name": ["Longer than maximum length 255."],
        "type": ["Not a valid string."],
    }
    for reply in (admin.patch(f"{BRACKETS}/99", {"name": "x"}), admin.delete(f"{BRACKETS}/99")):
        assert reply.status == 404
        assert list(reply.json) == ["message"]
    assert admin.get(one).status == 404


def test_a_bracket_counts_at_once_and_leaves_nobody_in_it(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    number = admin.post(BRACKETS, {"name": "Students", "type": "users"}).data["id"]
    ann = platform.player("ann", bracket_id=number)
    ann_id = ann.get("/api/v1/users/me").data["id"]

    def award(conn: Connection) -> None:
        an_award(conn, ann_id)
        touch(conn, "standings")

    platform.run(award)
    platform.bus.publish(("standings",))

    def shown() -> str | None:
        name: str | None = ann.get("/api/v1/scoreboard").data[0]["bracket_name"]
        return name

    assert shown() == "Students"
    admin.patch(f"{BRACKETS}/{number}", {"name": "Pupils"})
    assert shown() == "Pupils"
    assert platform.player("ben").get("/challenges").location == "/settings"
    assert admin.delete(f"{BRACKETS}/{number}").json == {"success": True}
    assert shown() is None
    assert ann.get("/api/v1/users/me").data["bracket_id"] is None
    assert platform.player("ben").get("/challenges").status == 200
