"""/api/v1/challenges/<id>/ratings."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.challenges.tables import modules, ratings
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team

SOLVE_FIRST = {"": ["You must solve this challenge before rating it"]}
Make = Callable[..., Any]


def path(challenge: int | str) -> str:
    return f"/api/v1/challenges/{challenge}/ratings"


def id_of(client: Client) -> int:
    number: int = client.get("/api/v1/users/me").data["id"]
    return number


@pytest.fixture
def solved(platform: MemoryPlatform, make: Make) -> int:
    """A challenge that Ann has solved."""
    number: int = make(a_challenge, name="one", category="web")
    make(a_solve, number, id_of(platform.player("ann")))
    return number


def sums(client: Client, challenge: int) -> dict[str, int] | None:
    shown: dict[str, int] | None = client.get(f"/api/v1/challenges/{challenge}").data["ratings"]
    return shown


def test_a_rating_is_given_replaced_and_shown_at_once(platform: MemoryPlatform, solved: int) -> None:
    ann, ben = platform.player("ann"), platform.player("ben")
    detail = f"/api/v1/challenges/{solved}"
    assert ann.get(detail).data["rating"] is None
    first = ann.put(path(solved), {"value": 1, "review": "Well made"}).data
    assert first == {
        "id": first["id"],
        "user_id": id_of(ann),
        "challenge_id": solved,
        "value": 1,
        "review": "Well made",
        "date": "2026-03-14T15:00:00Z",
    }
    assert ann.get(detail).data["rating"] == {"value": 1, "review": "Well made"}
    assert sums(ben, solved) == {"up": 1, "down": 0, "count": 1}
    platform.clock.advance(1)
    second = ann.put(path(solved), {"value": "-1"}).data
    assert second == {**first, "value": -1, "review": "", "date": "2026-03-14T15:00:01Z"}
    assert ann.get(detail).data["rating"] == {"value": -1, "review": ""}
    assert sums(ben, solved) == {"up": 0, "down": 1, "count": 1}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"value": ["Rating value is required"]}),
        ({"value": None}, {"value": ["Rating value is required"]}),
        ({"value": "good"}, {"value": ["Rating value must be an integer"]}),
        ({"value": [1]}, {"value": ["Rating value must be an integer"]}),
        ({"value": 0}, {"value": ["Rating value must be either 1 or -1"]}),
        ({"value": 2}, {"value": ["Rating value must be either 1 or -1"]}),
        ({"value": 1, "review": "x" * 2001}, {"review": ["Review text cannot exceed 2000 characters"]}),
        ({"value": 1, "review": 5}, {"review": ["Not a valid string."]}),
    ],
)
def test_what_a_rating_can_not_be(
    platform: MemoryPlatform, solved: int, body: dict[str, Any], errors: dict[str, Any]
) -> None:
    reply = platform.player("ann").put(path(solved), body)
    assert (reply.status, reply.errors) == (400, errors)
    assert sums(platform.player("ann"), solved) == {"up": 0, "down": 0, "count": 0}


def test_an_empty_body_has_no_value(platform: MemoryPlatform, solved: int) -> None:
    reply = platform.player("ann").request("PUT", path(solved))
    assert (reply.status, reply.errors) == (400, {"value": ["Rating value is required"]})


def test_a_review_may_be_2000_characters_or_null(platform: MemoryPlatform, solved: int) -> None:
    ann = platform.player("ann")
    assert ann.put(path(solved), {"value": 1, "review": "é" * 2000}).data["review"] == "é" * 2000
    assert ann.put(path(solved), {"value": 1, "review": None}).data["review"] == ""


def test_only_who_has_solved_it_rates_it(platform: MemoryPlatform, solved: int) -> None:
    reply = platform.player("ben").put(path(solved), {"value": 1})
    assert (reply.status, reply.errors) == (403, SOLVE_FIRST)
    assert platform.client().put(path(solved), {"value": 1}).status == 403
    assert platform.admin().put(path(solved), {"value": 1}).data["value"] == 1


def test_what_one_member_solves_the_team_rates(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    team, number = make(a_team), make(a_challenge)
    ann, ben = platform.player("ann", team_id=team), platform.player("ben", team_id=team)
    make(a_solve, number, id_of(ann), team_id=team)
    assert ben.put(path(number), {"value": 1}).status == 200
    assert ann.put(path(number), {"value": 1}).status == 200
    assert sums(ann, number) == {"up": 2, "down": 0, "count": 2}


def test_ratings_can_be_turned_off(platform: MemoryPlatform, solved: int) -> None:
    platform.configure(challenge_ratings="disabled")
    assert set(platform.player("ann").put(path(solved), {"value": 1}).json) == {"message"}
    assert platform.admin().put(path(solved), {"value": 1}).status == 403
    assert platform.admin().put(path(999), {"value": 1}).status == 403


@pytest.mark.parametrize("columns", [{"state": "hidden"}, {"scheduled_at": "later"}, {"module_id": 1}])
def test_what_players_may_not_know_of_is_not_there(
    platform: MemoryPlatform, make: Make, columns: dict[str, Any]
) -> None:
    make(insert_row, modules, {"id": 1, "name": "closed"})
    if "scheduled_at" in columns:
        columns = {"scheduled_at": platform.now + timedelta(hours=1)}
    number = make(a_challenge, **columns)
    ann = platform.player("ann")
    make(a_solve, number, id_of(ann))
    assert ann.put(path(number), {"value": 7}).status == 404
    assert platform.admin().put(path(number), {"value": 1}).status == 200
    assert [ann.put(path(name), {"value": 1}).status for name in (999, "x")] == [404, 404]


def test_administrators_read_all_of_them_newest_first(platform: MemoryPlatform, make: Make, solved: int) -> None:
    admin, ann, ben = platform.admin(), platform.player("ann"), platform.player("ben")
    make(a_solve, solved, id_of(ben))
    first = ann.put(path(solved), {"value": 1, "review": "Well made"}).data
    ben.put(path(solved), {"value": -1})
    reply = admin.get(path(solved)).json
    assert [rating["user"]["name"] for rating in reply["data"]] == ["ben", "ann"]
    assert reply["data"][1] == {
        "id": first["id"],
        "user_id": id_of(ann),
        "user": {"id": id_of(ann), "name": "ann"},
        "challenge_id": solved,
        "challenge": {"id": solved, "name": "one", "category": "web"},
        "value": 1,
        "review": "Well made",
        "date": "2026-03-14T15:00:00+00:00",
    }
    assert reply["meta"]["summary"] == {"up": 1, "down": 1, "count": 2}
    page = {"page": 2, "next": None, "prev": 1, "pages": 2, "per_page": 1, "total": 2}
    second = admin.get(f"{path(solved)}?page=2&per_page=1").json
    assert second["meta"]["pagination"] == page
    assert [rating["value"] for rating in second["data"]] == [1]
    assert admin.get(f"{path(solved)}?per_page=1000&page=x").json["meta"]["pagination"]["per_page"] == 50
    assert ann.get(path(solved)).status == 403


@pytest.mark.parametrize("name", ["999", "x"])
def test_an_unknown_challenge_has_no_ratings(platform: MemoryPlatform, name: str) -> None:
    reply = platform.admin().get(f"/api/v1/challenges/{name}/ratings").json
    assert reply["data"] == []
    assert reply["meta"]["summary"] == {"up": 0, "down": 0, "count": 0}
    assert reply["meta"]["pagination"]["total"] == 0


def test_a_private_rating_is_collected_and_not_summed_up(platform: MemoryPlatform, solved: int) -> None:
    platform.configure(challenge_ratings="private")
    ann = platform.player("ann")
    assert ann.put(path(solved), {"value": 1}).status == 200
    assert sums(ann, solved) is None
    assert platform.run(lambda conn: conn.execute(select(ratings.c.value)).scalars().all()) == [1]


def test_what_the_public_sees_of_ratings_stands_still_at_the_freeze(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(challenge_visibility="public", freeze=int(platform.now.timestamp()) + 60)
    number, ann, ben = make(a_challenge), platform.player("ann"), platform.player("ben")
    for client in (ann, ben):
        make(a_solve, number, id_of(client))
    visitor, admin = platform.client(), platform.admin()
    ann.put(path(number), {"value": 1})
    before = sums(visitor, number)
    assert before == {"up": 1, "down": 0, "count": 1}
    for _ in range(2):
        platform.clock.advance(60)
        ann.put(path(number), {"value": -1})
        ben.put(path(number), {"value": -1})
        assert sums(visitor, number) == sums(ann, number) == before
    assert ann.get(f"/api/v1/challenges/{number}").data["rating"]["value"] == -1
    assert sums(admin, number) == {"up": 0, "down": 2, "count": 2}
    assert admin.get(path(number)).json["meta"]["summary"] == {"up": 0, "down": 2, "count": 2}
    platform.configure(freeze=None)
    assert sums(visitor, number) == {"up": 0, "down": 2, "count": 2}


def test_a_rating_is_frozen_as_it_was_at_a_freeze_that_moves(platform: MemoryPlatform, make: Make) -> None:
    begin = int(platform.now.timestamp())
    number, ann = make(a_challenge), platform.player("ann")
    make(a_solve, number, id_of(ann))

    def rated(value: int, at: int, freeze: int) -> dict[str, int] | None:
        platform.configure(freeze=begin + freeze)
        platform.clock.advance(begin + at - platform.clock.seconds())
        ann.put(path(number), {"value": value})
        return sums(ann, number)

    up, down, none = ({"up": u, "down": d, "count": u + d} for u, d in ((1, 0), (0, 1), (0, 0)))
    assert rated(1, at=10, freeze=20) == up
    assert rated(-1, at=30, freeze=20) == up
    assert rated(1, at=50, freeze=40) == down
    assert rated(1, at=60, freeze=55) == up
    platform.configure(freeze=begin + 5)
    assert sums(ann, number) == none
