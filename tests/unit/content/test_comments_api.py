"""/api/v1/comments."""

from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.content.tables import comments
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_team, a_user

COMMENTS = "/api/v1/comments"


def something(platform: MemoryPlatform) -> dict[str, int]:
    """A thing of each kind that comments may be about, by its kind."""

    def build(conn: Connection) -> dict[str, int]:
        return {"challenge": a_challenge(conn), "user": a_user(conn), "team": a_team(conn)}

    made: dict[str, int] = platform.run(build)
    return {**made, "page": platform.admin().post("/api/v1/pages", {"route": "about"}).data["id"]}


def contents(admin: Client, query: str = "") -> list[str]:
    return [comment["content"] for comment in admin.get(f"{COMMENTS}?{query}").data]


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    platform.admin().post(COMMENTS, {"content": "x"})
    replies = (ann.get(COMMENTS), ann.post(COMMENTS, {"content": "x"}), ann.delete(f"{COMMENTS}/1"))
    assert [reply.status for reply in replies] == [403] * 3
    assert contents(platform.admin()) == ["x"]


@pytest.mark.parametrize("kind", ["challenge", "user", "team", "page"])
def test_a_comment_is_about_one_thing(platform: MemoryPlatform, kind: str) -> None:
    admin, target = platform.admin("root"), something(platform)[kind]
    made = admin.post(COMMENTS, {"content": "*so*, {ctf_name}", f"{kind}_id": target, "author_id": 99}).data
    assert made == {
        "id": made["id"],
        "type": kind,
        "content": "*so*, {ctf_name}",
        "html": "<p><em>so</em>, Test CTF</p>\n",
        "date": "2026-03-14T15:00:00+00:00",
        "author_id": admin.get("/api/v1/users/me").data["id"],
        "author": {"name": "root"},
    }
    assert admin.get(f"{COMMENTS}?{kind}_id={target}").data == [made]
    assert contents(admin, f"{kind}_id={target + 1}") == []


def test_the_first_thing_decides_and_the_type_says_the_same(platform: MemoryPlatform) -> None:
    admin, things = platform.admin(), something(platform)
    body = {"content": "x", "page_id": things["page"], "user_id": things["user"], "challenge_id": None}
    assert admin.post(COMMENTS, body).data["type"] == "user"
    assert contents(admin, f"page_id={things['page']}") == []
    assert admin.post(COMMENTS, {**body, "type": "user"}).data["type"] == "user"
    assert list(admin.post(COMMENTS, {**body, "type": "page"}).errors) == ["type"]
    assert admin.post(COMMENTS, {"content": "x"}).data["type"] == "standard"
    assert admin.post(COMMENTS, {"content": "x", "type": "standard"}).status == 200


def test_what_a_comment_can_not_be(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    assert admin.post(COMMENTS, {"challenge_id": "x"}).errors == {
        "content": ["Missing data for required field."],
        "challenge_id": ["Not a valid integer."],
    }
    for kind in ("challenge", "user", "team", "page"):
        reply = admin.post(COMMENTS, {"content": "x", f"{kind}_id": 999})
        assert (reply.status, reply.errors) == (400, {f"{kind}_id": [f"There is no such {kind}"]})
    assert contents(admin) == []


@pytest.mark.parametrize("sanitization", [True, False])
@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<svg onload=alert(1)>",
    ],
)
def test_nothing_in_a_comment_runs(platform: MemoryPlatform, attack: str, sanitization: Any) -> None:
    platform.configure(html_sanitization=sanitization)
    made = platform.admin().post(COMMENTS, {"content": f"before\n\n{attack}\n\nafter"}).data
    assert attack in made["content"]
    for html in (made["html"], platform.admin().get(COMMENTS).data[0]["html"]):
        assert "before" in html
        assert "alert" not in html


def test_comments_come_newest_first_a_page_at_a_time(platform: MemoryPlatform) -> None:
    admin, user = platform.admin(), platform.run(a_user)
    for number in range(25):
        admin.post(COMMENTS, {"content": str(number), "user_id": user})
    admin.post(COMMENTS, {"content": "elsewhere"})
    assert contents(admin, f"user_id={user}") == [str(number) for number in range(24, 4, -1)]
    reply = admin.get(f"{COMMENTS}?user_id={user}&page=2").json
    assert [comment["content"] for comment in reply["data"]] == ["4", "3", "2", "1", "0"]
    assert reply["meta"]["pagination"] == {
        "page": 2,
        "next": None,
        "prev": 1,
        "pages": 2,
        "per_page": 20,
        "total": 25,
    }
    assert admin.get(f"{COMMENTS}?per_page=1000").json["meta"]["pagination"]["per_page"] == 100
    assert contents(admin, "q=elsew&field=content") == ["elsewhere"]
    assert list(admin.get(f"{COMMENTS}?field=type").errors) == ["field"]
    assert admin.get(f"{COMMENTS}?user_id={user}&team_id=1").status == 400


def test_a_comment_goes_whoever_wrote_it(platform: MemoryPlatform) -> None:
    one = f"{COMMENTS}/{platform.admin('ada').post(COMMENTS, {'content': 'x'}).data['id']}"
    ben = platform.admin("ben")
    assert ben.delete(one).json == {"success": True}
    assert [reply.status for reply in (ben.delete(one), ben.delete(f"{COMMENTS}/x"))] == [404, 404]


def test_a_comment_of_nobody_is_shown(platform: MemoryPlatform) -> None:
    platform.run(insert_row, comments, {"content": None})
    assert platform.admin().get(COMMENTS).data == [
        {"id": 1, "type": "standard", "content": None, "html": "", "date": None, "author_id": None, "author": None}
    ]
