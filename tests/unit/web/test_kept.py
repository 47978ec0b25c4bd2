"""Pieces of pages are drawn once for the same values, and as often as these change."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge
from ctfd_twisted.web import kept as module
from ctfd_twisted.web.kept import Kept


def test_a_piece_is_drawn_once_for_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    drawn: list[str] = []

    def draw(name: str) -> Markup:
        drawn.append(name)
        return Markup("<b>{}</b>").format(name)

    kept = Kept()
    assert [kept.of(draw, name) for name in ("a", "<", "a", "<")] == ["<b>a</b>", "<b>&lt;</b>"] * 2
    assert drawn == ["a", "<"]
    kept.of(draw, "c")  # there is no room for a third, so all are forgotten
    kept.of(draw, "a")
    assert drawn == ["a", "<", "c", "a"]


def test_a_tile_and_a_row_change_with_what_they_show() -> None:
    platform = MemoryPlatform().setup()
    number = platform.run(lambda conn: a_challenge(conn, name="<First>", value=100))
    ada, bob = platform.player("ada"), platform.player("bob")
    admin = platform.admin()

    def page(who: Client, path: str) -> str:
        return who.get(path).text

    for who in (ada, bob, ada):
        assert "&lt;First&gt;" in page(who, "/challenges")
        assert "is-solved" not in page(who, "/challenges")
    admin.patch(f"/api/v1/challenges/{number}", {"name": "Second", "value": 1234})
    assert "Second" in page(ada, "/challenges")
    flag = {"challenge_id": number, "content": "flag{right}", "type": "static", "data": ""}
    admin.post("/api/v1/flags", flag)
    ada.post("/api/v1/challenges/attempt", {"challenge_id": number, "submission": "flag{right}"})
    assert "is-solved" in page(ada, "/challenges")
    assert "is-solved" not in page(bob, "/challenges")
    assert "1 solve<" in page(bob, "/challenges")
    assert page(bob, "/scoreboard").count("<tr data-account") == 1
    bob.post("/api/v1/challenges/attempt", {"challenge_id": number, "submission": "flag{right}"})
    board = page(ada, "/scoreboard")
    assert board.count("<tr data-account") == 2
    assert board.count("data-own") == 1
    platform.close()
