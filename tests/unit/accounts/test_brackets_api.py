"""``GET /api/v1/brackets`` is for everybody."""

from __future__ import annotations

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform


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
