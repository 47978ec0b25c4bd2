"""/api/v1/unlocks."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.challenges.tables import solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import awards, unlocks
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_hint, a_solve, a_team, an_award

UNLOCKS = "/api/v1/unlocks"
POOR = {"score": "You do not have enough points to unlock this hint"}
ALREADY = {"target": "You've already unlocked this target"}
Make = Callable[..., Any]


def unlock(client: Client, target: object, type: str = "hints") -> Reply:
    return client.post(UNLOCKS, {"type": type, "target": target})


def id_of(client: Client) -> int:
    found: int = client.get("/api/v1/users/me").data["id"]
    return found


def score_of(client: Client) -> int:
    score: int = client.get("/api/v1/users/me").data["score"]
    return score


def paid(platform: MemoryPlatform) -> list[Any]:
    columns = [awards.c[name] for name in ("user_id", "team_id", "type", "name", "description", "value", "category")]
    statement = select(*columns, awards.c.icon, awards.c.requirements).where(awards.c.category == "hints")
    return [tuple(row) for row in platform.run(lambda conn: conn.execute(statement).all())]


def test_a_hint_is_unlocked_and_paid_for(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, name="Baby RSA")
    hint = make(a_hint, number, cost=30)
    ann = platform.player("ann")
    me = id_of(ann)
    make(a_solve, number, me)
    made = unlock(ann, str(hint)).data
    assert made == {
        "id": made["id"],
        "type": "hints",
        "target": hint,
        "user_id": me,
        "team_id": None,
        "date": "2026-03-14T15:00:00+00:00",
    }
    assert paid(platform) == [(me, None, "standard", f"Hint {hint}", "Hint for Baby RSA", -30, "hints", None, None)]
    assert score_of(ann) == 70
    assert ann.get("/api/v1/scoreboard").data[0]["score"] == 70
    assert ann.get(f"/api/v1/challenges/{number}").data["hints"][0]["content"] == "Look closer."


def test_a_free_hint_leaves_an_award_of_nothing(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge, name="x"))
    ann = platform.player("ann")
    assert unlock(ann, hint).status == 200
    assert [row[5] for row in paid(platform)] == [0]
    assert ann.get("/api/v1/scoreboard").data == []


def test_points_must_suffice_and_nothing_is_bought_twice(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge), cost=10)
    ann = platform.player("ann")
    make(an_award, id_of(ann), 9)
    assert (unlock(ann, hint).status, unlock(ann, hint).errors) == (400, POOR)
    make(an_award, id_of(ann), 1)
    assert unlock(ann, hint).status == 200
    # The points are looked at first.
    assert (unlock(ann, hint).status, unlock(ann, hint).errors) == (400, POOR)
    make(an_award, id_of(ann), 10)
    assert (unlock(ann, hint).status, unlock(ann, hint).errors) == (400, ALREADY)
    assert len(paid(platform)) == 1
    assert unlock(platform.player("ben"), hint).errors == POOR


def test_what_ctfd_stored_twice_is_unlocked_once(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge))
    ann = platform.player("ann")
    for _ in range(2):
        make(insert_row, unlocks, {"user_id": id_of(ann), "target": hint, "type": "hints"})
    assert unlock(ann, hint).errors == ALREADY
    assert ann.get(f"/api/v1/hints/{hint}").data["content"] == "Look closer."
    assert len(platform.admin().get(UNLOCKS).data) == 2


def test_points_from_after_the_freeze_pay(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(freeze=int(platform.now.timestamp()) - 60, score_visibility="hidden")
    hint = make(a_hint, make(a_challenge), cost=10)
    ann = platform.player("ann")
    make(an_award, id_of(ann), 10, date=platform.now)
    assert unlock(ann, hint).status == 200


def test_a_team_pays_together_and_once(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    team, hint = make(a_team), make(a_hint, make(a_challenge), cost=10)
    ann, ben = platform.player("ann", team_id=team), platform.player("ben", team_id=team)
    make(an_award, id_of(ben), 25, team_id=team)
    made = unlock(ann, hint).data
    assert (made["user_id"], made["team_id"]) == (id_of(ann), team)
    assert [row[:2] for row in paid(platform)] == [(id_of(ann), team)]
    assert unlock(ben, hint).errors == ALREADY
    assert ben.get("/api/v1/teams/me").data["score"] == 15


def test_who_has_no_team_where_teams_play_unlocks_nothing(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    hint = make(a_hint, make(a_challenge))
    assert [unlock(client, hint).status for client in (platform.player("ann"), platform.admin())] == [403, 403]


def test_administrators_pay_like_anyone(platform: MemoryPlatform, make: Make) -> None:
    assert unlock(platform.admin(), make(a_hint, make(a_challenge), cost=1)).errors == POOR


def test_hints_that_come_before_are_unlocked_before(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    first = make(a_hint, number)
    second = make(a_hint, number, cost=10, requirements={"prerequisites": [first, 999]})
    for client in (platform.player("ann"), platform.admin()):
        reply = unlock(client, second)
        assert reply.status == 403
        assert reply.errors == {"requirements": ["You must unlock other hints before accessing this hint"]}
        assert unlock(client, first).status == 200
        make(an_award, id_of(client), 10)
        assert unlock(client, second).status == 200


def test_what_is_unlocked(platform: MemoryPlatform, make: Make) -> None:
    ann = platform.player("ann")
    for body, missing in (({}, ["type", "target"]), ({"type": "hints"}, ["target"]), ({"target": 1}, ["type"])):
        reply = ann.post(UNLOCKS, body)
        assert (reply.status, reply.errors) == (400, {name: ["Missing data for required field."] for name in missing})
    for type_ in ("flags", "challenges", "nonsense", None, ["hints"]):
        reply = ann.post(UNLOCKS, {"type": type_, "target": 1})
        assert (reply.status, reply.errors) == (400, {"type": "Unknown target type"})
    make(a_hint, make(a_challenge), id=1)
    for target in (999, "x", None, True, 2**40, -1):
        assert unlock(ann, target).status == 404
    assert unlock(ann, 1, "solutions").status == 404


def test_who_may_unlock(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge))
    assert unlock(platform.client(), hint).status == 403
    platform.configure(verify_emails=True, challenge_visibility="admins")
    assert unlock(platform.player("ann", verified=False), hint).status == 403
    assert unlock(platform.player("ben"), hint).status == 200
    platform.configure(end=int(platform.now.timestamp()) - 1)
    reply = unlock(platform.player("cat"), hint)
    assert (reply.status, reply.json) == (403, {"message": "Test CTF has ended"})
    assert unlock(platform.admin(), hint).status == 200
    platform.configure(view_after_ctf=True)
    assert unlock(platform.player("cat"), hint).status == 200


def a_solution(platform: MemoryPlatform, make: Make, challenge_id: int, state: str) -> int:
    del platform
    number: int = make(insert_row, solutions, {"challenge_id": challenge_id, "content": "so", "state": state})
    return number


def test_a_solution_is_free(platform: MemoryPlatform, make: Make) -> None:
    solution = a_solution(platform, make, make(a_challenge), "visible")
    ann = platform.player("ann")
    made = unlock(ann, solution, "solutions").data
    assert (made["type"], made["target"]) == ("solutions", solution)
    assert unlock(ann, solution, "solutions").errors == ALREADY
    assert platform.run(lambda conn: conn.execute(select(awards.c.id)).all()) == []


@pytest.mark.parametrize(
    ("state", "before", "after"), [("hidden", 404, 404), ("draft", 404, 404), ("solved", 404, 200)]
)
def test_a_solution_that_nobody_may_know_of_is_not_there(
    platform: MemoryPlatform, make: Make, state: str, before: int, after: int
) -> None:
    number = make(a_challenge)
    solution = a_solution(platform, make, number, state)
    ann = platform.player("ann")
    assert unlock(ann, solution, "solutions").status == before
    make(a_solve, number, id_of(ann))
    assert unlock(ann, solution, "solutions").status == after
    assert unlock(platform.admin(), solution, "solutions").status == 200


def test_the_solution_of_a_closed_challenge_is_not_there(platform: MemoryPlatform, make: Make) -> None:
    first = make(a_challenge)
    for closed in ({"scheduled_at": platform.now + timedelta(hours=1)}, {"requirements": {"prerequisites": [first]}}):
        solution = a_solution(platform, make, make(a_challenge, **closed), "visible")
        assert unlock(platform.player("ann"), solution, "solutions").status == 404


def test_administrators_list_and_find_all(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    one, two = make(a_hint, number), make(a_hint, number)
    ann, ben, admin = platform.player("ann"), platform.player("ben"), platform.admin()
    first, second = unlock(ann, one).data, unlock(ben, two).data
    make(insert_row, unlocks, {"user_id": id_of(ann), "target": 7, "type": "solutions"})

    def found(query: str) -> list[int]:
        return [entry["target"] for entry in admin.get(f"{UNLOCKS}?{query}").data]

    assert admin.get(UNLOCKS).data[:2] == [first, second]
    assert admin.get(UNLOCKS).data[2]["date"] is None
    assert found(f"user_id={id_of(ann)}") == [one, 7]
    assert found("type=solutions") == found("target=7") == found("q=7&field=target") == [7]
    assert found("q=hin&field=type") == [one, two]
    assert found("team_id=1") == found("q=x&field=target") == found(f"q={2**40}&field=target") == []
    assert admin.get(f"{UNLOCKS}?target=x").errors == {"target": "value is not a valid integer"}
    assert ann.get(UNLOCKS).status == 403
    assert admin.patch(f"{UNLOCKS}/{first['id']}", {}).status == 404
