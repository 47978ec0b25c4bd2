"""Hills as players see them over the REST API, and as administrators make them."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import Connection

from ctfd_twisted.db.notices import touch
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_team, a_user
from tests.unit.koth.arena import HILL, SETTINGS, Arena

# Settings


def test_a_hill_is_made_and_read_by_administrators_with_all_its_settings(arena: Arena) -> None:
    shown = arena.admin.get(f"/api/v1/challenges/{arena.hill}").data
    assert (shown["type"], shown["value"], shown["reward"]) == ("koth", 10, 10)
    assert (shown["url"], shown["interval"], shown["api_key"]) == ("http://hill:31337/status", 60, "sesame")
    assert (shown["timeout"], shown["health_gate"], shown["jitter"], shown["confirm_ticks"]) == (5, False, 0, 1)


def test_players_see_the_state_of_a_hill_and_none_of_its_settings(arena: Arena) -> None:
    arena.play(1)
    shown = arena.ada.get(f"/api/v1/challenges/{arena.hill}").data
    assert not shown.keys() & {"url", "api_key", "tls_certificate", "client_key", "timeout", "jitter", "reset_url"}
    koth = shown["koth"]
    assert koth.keys() == {"token", "king", "since", "reward", "interval", "next_tick"}
    assert koth["king"]["name"] == "ada"
    assert koth["king"]["type"] == "user"
    assert len(koth["token"]) >= 20
    assert arena.bob.get(f"/api/v1/challenges/{arena.hill}").data["koth"]["token"] != koth["token"]
    assert "sesame" not in arena.ada.get(f"/api/v1/challenges/{arena.hill}").text


def test_wrong_settings_name_each_field_and_store_nothing(arena: Arena) -> None:
    before = len(arena.admin.get("/api/v1/challenges?view=admin").data)
    reply = arena.admin.post("/api/v1/challenges", {**HILL, "interval": 0, "reward": "x", "jitter": 4})
    assert reply.status == 400
    assert reply.errors.keys() >= {"url", "interval", "reward"}
    assert len(arena.admin.get("/api/v1/challenges?view=admin").data) == before
    reply = arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"name": "New", "timeout": 61})
    assert (reply.status, list(reply.errors)) == (400, ["timeout"])
    assert arena.admin.get(f"/api/v1/challenges/{arena.hill}").data["name"] == "The Hill"


def test_a_change_of_the_reward_is_a_change_of_the_value(arena: Arena) -> None:
    assert arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"reward": 25}).data["value"] == 25
    assert arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"value": 7}).data["value"] == 25


def test_another_challenge_becomes_a_hill_with_its_settings(arena: Arena) -> None:
    other = arena.admin.post("/api/v1/challenges", {"name": "Other", "category": "misc", "value": 5}).data["id"]
    assert arena.admin.patch(f"/api/v1/challenges/{other}", {"type": "koth"}).data["type"] == "koth"
    assert [hill["challenge_id"] for hill in arena.get()] == [arena.hill]
    assert arena.admin.patch(f"/api/v1/challenges/{other}", {"name": "Still other"}).status == 200
    assert arena.admin.patch(f"/api/v1/challenges/{other}", {"url": "http://hill/status"}).status == 400
    assert arena.admin.patch(f"/api/v1/challenges/{other}", SETTINGS).data["value"] == 10
    assert [hill["challenge_id"] for hill in arena.get()] == [arena.hill, other]


def test_a_hill_takes_no_flag(arena: Arena) -> None:
    body = {"challenge_id": arena.hill, "submission": "flag{x}"}
    reply = arena.ada.post("/api/v1/challenges/attempt", body)
    assert (reply.status, reply.data["status"]) == (200, "incorrect")
    assert "hill token" in reply.data["message"]


# Reading


def test_the_list_shows_kings_and_the_next_tick(arena: Arena) -> None:
    arena.play(1)
    (hill,) = arena.get()
    assert hill == {
        "challenge_id": arena.hill,
        "name": "The Hill",
        "category": "crown",
        "reward": 10,
        "interval": 60,
        "connection_info": "http://t:5000/",
        "king": {"id": hill["king"]["id"], "name": "ada", "type": "user"},
        "since": "2026-03-14T15:00:00+00:00",
        "ticks_held": 2,
        "last_outcome": "up",
        "next_tick": "2026-03-14T15:02:00+00:00",
    }
    arena.agent.key = "changed"
    arena.play(1)
    (hill,) = arena.get()
    assert (hill["last_outcome"], hill["king"]["name"]) == ("down", "ada")
    (hill,) = arena.get(who=arena.admin)
    assert (hill["last_outcome"], hill["failures"]) == ("unauthorized", 1)


def test_what_is_shown_is_never_older_than_the_last_tick(arena: Arena) -> None:
    arena.play(2)
    (before,) = arena.get()
    arena.play(1)
    (after,) = arena.get()
    assert (before["ticks_held"], after["ticks_held"], after["last_outcome"]) == (3, 4, "up")
    assert arena.get(f"/{arena.hill}")["standings"][0]["ticks"] == 4
    arena.platform.hill_reach.refusing.add("hill")
    arena.play(1)
    assert arena.get()[0]["last_outcome"] == "down"
    arena.platform.hill_reach.refusing.clear()
    arena.agent.owner = "bob"
    arena.play(1)
    assert (arena.get()[0]["king"]["name"], arena.get()[0]["ticks_held"]) == ("bob", 1)
    assert arena.ada.get(f"/api/v1/challenges/{arena.hill}").data["koth"]["king"]["name"] == "bob"


def test_one_hill_comes_with_its_standings_and_reigns(arena: Arena) -> None:
    arena.play(2)
    arena.agent.owner = "bob"
    arena.play(1)
    arena.agent.owner = "ada"
    arena.play(1)
    hill = arena.get(f"/{arena.hill}")
    assert [
        (row["account"]["name"], row["points"], row["ticks"], row["longest_reign"]) for row in hill["standings"]
    ] == [
        ("ada", 40, 4, 3),
        ("bob", 10, 1, 1),
    ]
    reply = arena.bob.get(f"/api/v1/koth/{arena.hill}/reigns?per_page=2")
    assert reply.json["meta"]["pagination"]["total"] == 3
    assert reply.data[1] == {
        "account": {"id": reply.data[1]["account"]["id"], "name": "bob", "type": "user"},
        "from": "2026-03-14T15:03:00+00:00",
        "to": "2026-03-14T15:03:00+00:00",
        "ticks": 1,
        "points": 10,
    }


def test_hills_that_players_may_not_see_are_not_there(arena: Arena) -> None:
    arena.play(1)
    arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"state": "hidden"})
    assert arena.get() == []
    for path in ("", "/reigns", "/ticks"):
        assert arena.ada.get(f"/api/v1/koth/{arena.hill}{path}").status == 404
        assert arena.ada.get(f"/api/v1/koth/10000{path}").status == 404
    assert len(arena.get(who=arena.admin)) == 1


def test_before_the_start_and_for_strangers_there_is_nothing_to_see(arena: Arena) -> None:
    stranger = arena.platform.client()
    assert stranger.get("/api/v1/koth", content_type="application/json").status == 403
    arena.platform.configure(start=int(arena.platform.clock.seconds()) + 100)
    assert arena.ada.get("/api/v1/koth").status == 403


@pytest.mark.parametrize("path", ["/checks", "/void"])
def test_evidence_is_for_administrators(arena: Arena, path: str) -> None:
    assert arena.ada.get(f"/api/v1/koth/{arena.hill}{path}").status == 403
    assert arena.admin.get(f"/api/v1/koth/{arena.hill}{path}").status == 200
    assert arena.admin.get(f"/api/v1/koth/10000{path}").status == 404


def test_checks_show_every_tick_and_can_be_filtered(arena: Arena) -> None:
    arena.play(1)
    arena.agent.owner = ""
    arena.play(1)
    path = f"/api/v1/koth/{arena.hill}/checks"
    (unclaimed,) = arena.admin.get(f"{path}?outcome=unclaimed").data
    assert (unclaimed["tick"], unclaimed["identifier"], unclaimed["account"]) == (2, "", None)
    held = arena.admin.get(f"{path}?outcome=held").data[-1]
    assert held.keys() >= {
        "tick",
        "due",
        "started",
        "latency_ms",
        "outcome",
        "identifier",
        "account",
        "award_id",
        "detail",
    }
    assert (held["tick"], held["due"], held["signed"], held["status"]) == (0, "2026-03-14T15:00:00+00:00", True, 200)
    assert held["answers"] == [
        {"step": "claim", "status": 200, "latency_ms": 0, "body": '{"success":true,"data":{"identifier":"ada"}}'}
    ]
    reply = arena.admin.get(f"{path}?outcome=fine")
    assert reply.status == 400
    assert "permitted: 'held', 'unclaimed'" in reply.errors["outcome"]


def test_players_see_their_own_ticks_and_all_after_the_end(arena: Arena) -> None:
    arena.play(1)
    arena.agent.owner = "bob"
    arena.play(1)
    path = f"/{arena.hill}/ticks"
    assert [tick["tick"] for tick in arena.get(path)] == [1, 0]
    (own,) = arena.get(path, arena.bob)
    assert (own["tick"], own["outcome"], own["identifier"], own["points"]) == (2, "held", "bob", 10)
    arena.platform.configure(end=int(arena.platform.clock.seconds()) - 1, view_after_ctf=True)
    assert [(tick["tick"], tick["identifier"]) for tick in arena.get(path)] == [(2, None), (1, "ada"), (0, "ada")]


# Hidden and frozen


def test_while_scores_are_hidden_players_see_kings_but_no_points(arena: Arena) -> None:
    arena.play(2)
    arena.platform.configure(score_visibility="hidden")
    hill = arena.get(f"/{arena.hill}")
    assert (hill["king"]["name"], hill["ticks_held"], hill["standings"]) == ("ada", None, [])
    assert arena.ada.get(f"/api/v1/koth/{arena.hill}/reigns").status == 403
    admins = arena.get(f"/{arena.hill}", arena.admin)
    assert (admins["ticks_held"], admins["standings"][0]["points"]) == (3, 30)


def test_while_scores_are_frozen_players_see_kings_but_no_points(arena: Arena) -> None:
    arena.play(1)
    arena.platform.configure(freeze=int(arena.platform.clock.seconds()) + 1)
    arena.agent.owner = "bob"
    arena.play(3)
    hill = arena.get(f"/{arena.hill}")
    assert (hill["king"]["name"], hill["ticks_held"]) == ("bob", None)
    assert [(row["account"]["name"], row["points"], row["ticks"]) for row in hill["standings"]] == [("ada", None, 2)]
    assert [(row["account"]["name"], row["points"]) for row in arena.get(f"/{arena.hill}/reigns")] == [("ada", None)]
    assert [tick["points"] for tick in arena.get(f"/{arena.hill}/ticks", arena.bob)] == [10, 10, 10], "one's own"
    admins = arena.get(f"/{arena.hill}", arena.admin)
    assert [row["account"]["name"] for row in admins["standings"]] == ["bob", "ada"]


def test_while_accounts_are_hidden_players_see_no_kings(arena: Arena) -> None:
    arena.play(1)
    arena.platform.configure(account_visibility="admins")
    hill = arena.get(f"/{arena.hill}")
    assert (hill["king"], hill["since"], hill["standings"]) == (None, None, [])
    assert arena.get(f"/{arena.hill}", arena.admin)["king"]["name"] == "ada"


def test_the_standings_count_what_hills_have_paid(arena: Arena) -> None:
    arena.play(3)
    (first,) = arena.ada.get("/api/v1/scoreboard").data
    assert (first["name"], first["score"]) == ("ada", 40)


def test_where_teams_play_kings_are_teams_and_members_share_a_token() -> None:
    arena = Arena("teams")
    red = arena.platform.run(partial(a_team, name="Red"))
    for player in (1, 2):
        arena.platform.run(_join, f"member {player}", red)
    one, two = (arena.platform.player(f"member {player}") for player in (1, 2))
    arena.agent.owner = one.get(f"/api/v1/challenges/{arena.hill}").data["koth"]["token"]
    arena.play(1)
    shown = two.get(f"/api/v1/challenges/{arena.hill}").data["koth"]
    assert (shown["king"], shown["token"]) == ({"id": red, "name": "Red", "type": "team"}, arena.agent.owner)
    assert [tick["identifier"] for tick in arena.get(f"/{arena.hill}/ticks", two)] == [arena.agent.owner] * 2
    assert arena.ada.get("/api/v1/koth").status == 403, "she has no team"
    result_of(arena.poller.stopService())
    arena.platform.close()


def _join(conn: Connection, name: str, team_id: int) -> None:
    a_user(conn, name=name, team_id=team_id)
    touch(conn, "accounts")
