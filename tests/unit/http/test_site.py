"""The way of a request to its route."""

from __future__ import annotations

import pytest

from ctfd_twisted.http import site
from ctfd_twisted.testing.platform import MemoryPlatform


def test_a_path_asked_for_again_is_answered_to_whoever_asks(platform: MemoryPlatform) -> None:
    ada, bob = platform.player("ada"), platform.player("bob")
    for _ in range(3):
        assert ada.get("/api/v1/users/me").data["name"] == "ada"
        assert bob.get("/api/v1/users/me").data["name"] == "bob"
        assert platform.client().get("/api/v1/users/me").status == 302


def test_numbers_in_a_remembered_path_stay_what_they_are(platform: MemoryPlatform) -> None:
    ada, bob = platform.player("ada"), platform.player("bob")
    ids = [one.get("/api/v1/users/me").data["id"] for one in (ada, bob)]
    for _ in range(2):
        assert [ada.get(f"/api/v1/users/{one}").data["name"] for one in ids] == ["ada", "bob"]


def test_what_is_remembered_is_bounded(platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "REMEMBERED", 3)
    player = platform.player("ada")
    for _ in range(2):
        for number in range(10):
            assert player.get(f"/api/v1/users/{number + 100}").status == 404
        assert player.get("/api/v1/users/me").status == 200


def test_a_path_that_waits_is_answered_as_well(platform: MemoryPlatform) -> None:
    player = platform.player("ada")
    for _ in range(3):
        platform.configure(ctf_name="Test CTF")  # what was in memory is forgotten, so the next request has to wait
        assert player.get("/api/v1/users/me").status == 200


@pytest.mark.parametrize("path", ["/api/v1/challenges/", "/api//v1/challenges"])
def test_a_path_that_is_almost_one_is_none(platform: MemoryPlatform, path: str) -> None:
    for _ in range(2):
        assert platform.player("ada").get(path).status in {308, 404}
