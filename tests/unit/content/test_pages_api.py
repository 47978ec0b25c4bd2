"""/api/v1/pages."""

from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.content.tables import comments
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform

PAGES = "/api/v1/pages"


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann, one = platform.player("ann"), f"{PAGES}/{platform.admin().post(PAGES, {}).data['id']}"
    replies = (ann.get(PAGES), ann.post(PAGES, {}), ann.get(one), ann.patch(one, {}), ann.delete(one))
    assert [reply.status for reply in replies] == [403] * 5


def test_a_page_is_made_changed_and_read(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    empty = admin.post(PAGES, {"nonce": "x"}).data
    assert empty == {
        "id": empty["id"],
        "title": None,
        "route": None,
        "content": None,
        "draft": None,
        "hidden": None,
        "auth_required": None,
        "format": "markdown",
        "link_target": None,
        "files": [],
    }
    one = f"{PAGES}/{empty['id']}"
    body = {"title": "About", "route": "about", "content": "*us*", "draft": "true", "hidden": 0, "auth_required": False}
    changed = {**empty, **body, "draft": True, "hidden": False}
    assert admin.patch(one, body).data == admin.get(one).data == changed
    assert admin.patch(one, {}).data == changed
    assert admin.patch(one, {"format": "html", "link_target": "_blank"}).data["content"] == "*us*"
    assert "content" not in admin.get(PAGES).data[0]


def test_players_see_a_page_as_it_is_now(platform: MemoryPlatform) -> None:
    admin, visitor = platform.admin(), platform.client()
    assert visitor.get("/about").status == 404
    made = admin.post(PAGES, {"title": "About us", "route": "/about/", "content": "We *are* {ctf_name}"}).data
    assert made["route"] == "about"
    one = f"{PAGES}/{made['id']}"
    assert "We <em>are</em> Test CTF" in visitor.get("/about").text
    assert "About us" in visitor.get("/login").text
    admin.patch(one, {"hidden": True})
    assert visitor.get("/about").status == 200
    assert "About us" not in visitor.get("/login").text
    admin.patch(one, {"auth_required": True, "content": "We were"})
    assert visitor.get("/about").location == "/login?next=%2Fabout%3F"
    assert "We were" in platform.player("ann").get("/about").text
    admin.patch(one, {"draft": True})
    assert visitor.get("/about").status == 404
    admin.patch(one, {"draft": False, "auth_required": False})
    assert visitor.get("/about").status == 200
    assert admin.delete(one).json == {"success": True}
    assert visitor.get("/about").status == 404
    gone = (admin.get(one), admin.patch(one, {"title": "x"}), admin.delete(one))
    assert [reply.status for reply in gone] == [404] * 3


def test_what_a_page_can_not_be(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    long = {"title": "x" * 81, "route": "x" * 129, "content": "x" * 65_536, "link_target": "_top"}
    told: dict[str, Any] = {
        name: [f"Page could not be saved. Your {name} is too long."] for name in ("title", "route", "content")
    }
    told["link_target"] = ["Invalid link target"]
    assert admin.post(PAGES, long).errors == told
    one = f"{PAGES}/{admin.post(PAGES, {'route': 'a', 'title': 'x' * 80, 'content': 'x' * 65_535}).data['id']}"
    assert admin.patch(one, long).errors == told
    wrong = {"draft": "maybe", "title": 5}
    assert admin.post(PAGES, wrong).errors == {
        "draft": "value could not be parsed to a boolean",
        "title": "str type expected",
    }
    assert admin.patch(one, wrong).errors == {"draft": ["Not a valid boolean."], "title": ["Not a valid string."]}
    assert len(admin.get(PAGES).data) == 1


def test_a_route_leads_to_one_page(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    admin.post(PAGES, {"route": "about"})
    other = f"{PAGES}/{admin.post(PAGES, {'route': 'us'}).data['id']}"
    for reply in (admin.post(PAGES, {"route": "/about"}), admin.patch(other, {"route": "about"})):
        assert (reply.status, list(reply.errors)) == (400, ["route"])
    assert admin.patch(other, {"route": "us"}).status == 200
    assert [page["route"] for page in admin.get(PAGES).data] == ["about", "us"]


def test_pages_are_found(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    admin.post(PAGES, {"title": "One", "route": "one", "content": "first", "draft": True, "hidden": False})
    admin.post(PAGES, {"title": "Two", "route": "two", "content": "second", "auth_required": True, "draft": False})

    def found(query: str) -> list[int]:
        return [page["id"] for page in admin.get(f"{PAGES}?{query}").data]

    assert found("") == [1, 2]
    assert found("id=1") == found("title=One") == found("draft=yes") == found("hidden=0") == [1]
    assert found("route=two") == found("auth_required=1") == found("q=econ&field=content") == [2]
    assert admin.get(f"{PAGES}?draft=x").errors == {"draft": "value could not be parsed to a boolean"}


@pytest.mark.parametrize("way", ["list", "one"])
def test_a_page_names_its_files(platform: MemoryPlatform, way: str) -> None:
    admin = platform.admin()
    page = admin.post(PAGES, {"route": "about"}).data["id"]

    def attach(conn: Connection) -> list[int]:
        row = {"type": "page", "location": "abc/map.png"}
        return [insert_row(conn, files, {**row, "page_id": owner}) for owner in (page, None, page)]

    first, _, third = platform.run(attach)
    shown = admin.get(PAGES).data[0] if way == "list" else admin.get(f"{PAGES}/{page}").data
    assert shown["files"] == [first, third]


def test_a_page_leaves_its_files_behind_and_takes_its_comments(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    page = admin.post(PAGES, {"route": "about"}).data["id"]
    admin.post("/api/v1/comments", {"content": "x", "page_id": page})
    platform.run(insert_row, files, {"type": "page", "location": "abc/map.png", "page_id": page})
    admin.delete(f"{PAGES}/{page}")
    assert platform.run(lambda conn: conn.execute(select(files.c.page_id)).scalars().all()) == [None]
    assert platform.run(lambda conn: conn.execute(select(comments.c.id)).scalars().all()) == []
