"""What administrators do with hills over the REST API; the commitment."""

from __future__ import annotations

from typing import Any

import pytest

from ctfd_twisted.competition.store import read_secret
from ctfd_twisted.koth.keys import MOMENTS
from ctfd_twisted.koth.schedule import commitment
from ctfd_twisted.testing import MemoryPlatform
from tests.unit.koth.arena import Arena

# Probes


def test_a_probe_awards_nothing_and_says_what_a_tick_would_make_of_it(arena: Arena) -> None:
    probe = arena.admin.post(f"/api/v1/koth/{arena.hill}/probe", {}).data
    assert (probe["outcome"], probe["status"], probe["identifier"], probe["signed"]) == ("held", 200, "ada", True)
    assert (probe["account"]["name"], probe["matched_by"], probe["fingerprint"]) == ("ada", "name", None)
    assert [(step["step"], step["ok"]) for step in probe["steps"]] == [("connect", True), ("claim", True)]
    assert arena.admin.get(f"/api/v1/koth/{arena.hill}/checks").data == []
    assert arena.admin.get("/api/v1/awards").data == []
    assert arena.ada.post(f"/api/v1/koth/{arena.hill}/probe", {}).status == 403


def test_a_hill_is_probed_before_it_is_saved(arena: Arena) -> None:
    probe = arena.admin.post("/api/v1/koth/probe", {"url": "http://hill/status", "api_key": "wrong"}).data
    assert probe["outcome"] == "unauthorized"
    assert [(step["step"], step["ok"]) for step in probe["steps"]] == [("connect", True), ("claim", False)]
    probe = arena.admin.post("/api/v1/koth/probe", {"url": "http://nowhere/status"}).data
    assert (probe["outcome"], probe["status"]) == ("unreachable", None)
    (step,) = probe["steps"]
    assert (step["step"], step["ok"]) == ("connect", False)
    assert "resolved" in step["detail"]
    reply = arena.admin.post("/api/v1/koth/probe", {"url": "http://h.onion/status", "interval": "x"})
    assert reply.status == 400
    assert reply.errors.keys() == {"url", "interval"}


def test_a_probe_tells_whom_it_would_not_make_king(arena: Arena) -> None:
    arena.agent.owner = "admin"
    probe = arena.admin.post(f"/api/v1/koth/{arena.hill}/probe", {}).data
    assert (probe["outcome"], probe["detail"]) == ("ineligible", "the user is an administrator")
    arena.agent.owner = "stranger"
    probe = arena.admin.post(f"/api/v1/koth/{arena.hill}/probe", {}).data
    assert (probe["outcome"], probe["account"]) == ("unknown", None)


# Voids, resets, the commitment


def test_points_are_taken_back_and_given_again(arena: Arena) -> None:
    arena.play(3)
    path = f"/api/v1/koth/{arena.hill}/void"
    void = arena.admin.post(path, {"from": 1, "to": 2, "reason": " the agent was wrong "}).data
    assert (void["from"], void["to"], void["reason"], void["author"]) == (1, 2, "the agent was wrong", "admin")
    assert arena.get(f"/{arena.hill}")["standings"][0]["points"] == 20
    assert arena.ada.get("/api/v1/scoreboard").data[0]["score"] == 20
    assert [
        check["voided_outcome"] for check in arena.admin.get(f"/api/v1/koth/{arena.hill}/checks?outcome=void").data
    ] == [
        "held",
        "held",
    ]
    assert arena.admin.get(path).data == [void]
    undone = arena.admin.delete(f"{path}/{void['id']}").data
    assert (undone["undone_by"], undone["ticks"]) == ("admin", 0)
    assert arena.ada.get("/api/v1/scoreboard").data[0]["score"] == 40
    assert arena.admin.delete(f"{path}/{void['id']}").status == 400
    assert arena.admin.delete(f"{path}/99").status == 404


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"from", "to", "reason"}),
        ({"from": 2, "to": 1, "reason": "x"}, {"to"}),
        ({"from": 0, "to": 0, "reason": " "}, {"reason"}),
        ({"from": 50, "to": 60, "reason": "x"}, {"from"}),
        ({"from": "a", "to": 1, "reason": "x"}, {"from"}),
    ],
)
def test_a_void_must_say_what_and_why(arena: Arena, body: dict[str, Any], fields: set[str]) -> None:
    reply = arena.admin.post(f"/api/v1/koth/{arena.hill}/void", body)
    assert (reply.status, reply.errors.keys()) == (400, fields)
    assert arena.ada.post(f"/api/v1/koth/{arena.hill}/void", body).status == 403


def test_a_reset_is_asked_for_where_there_is_a_url(arena: Arena) -> None:
    path = f"/api/v1/koth/{arena.hill}/reset"
    reply = arena.admin.post(path, {})
    assert (reply.status, list(reply.errors)) == (400, ["reset_url"])
    arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"reset_url": "http://hill/reset"})
    arena.play(1)
    assert arena.ada.post(path, {}).status == 403
    assert arena.admin.post(path, {}).data["reset_asked"]
    arena.platform.clock.advance(1)
    arena.platform.clock.advance(1)
    assert len(arena.agent.resets) == 1
    assert arena.get()[0]["king"] is None


def test_the_commitment_is_public_and_the_secret_after_the_end(arena: Arena) -> None:
    stranger = arena.platform.client()
    secret = arena.platform.run(read_secret, MOMENTS)
    before = stranger.get("/api/v1/koth/commitment").data
    assert before == {"algorithm": "SHA-256", "commitment": commitment(secret), "secret": None, "earlier": []}
    arena.platform.configure(end=int(arena.platform.clock.seconds()) + 10)
    arena.platform.clock.advance(10)
    assert stranger.get("/api/v1/koth/commitment").data["secret"] is None
    arena.platform.clock.advance(1)
    assert stranger.get("/api/v1/koth/commitment").data == {**before, "secret": secret}


def test_a_competition_that_goes_on_after_its_end_gets_a_new_secret(arena: Arena) -> None:
    arena.platform.configure(end=int(arena.platform.clock.seconds()) - 1, view_after_ctf=True)
    published = arena.platform.client().get("/api/v1/koth/commitment").data
    arena.platform.configure(end=None)
    arena.play(1)
    now = arena.platform.client().get("/api/v1/koth/commitment").data
    assert now["secret"] is None
    assert now["commitment"] != published["commitment"]
    assert now["earlier"] == [{"commitment": published["commitment"], "secret": published["secret"]}]


def test_the_commitment_exists_before_any_hill() -> None:
    platform = MemoryPlatform().setup()
    data = platform.client().get("/api/v1/koth/commitment").data
    assert (len(data["commitment"]), data["secret"]) == (64, None)
    platform.close()


def test_time_is_not_told_beyond_the_grid(arena: Arena) -> None:
    arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"jitter": 20})
    arena.play(1)
    (hill,) = arena.get()
    assert hill["next_tick"].endswith(":00+00:00")
