"""/api/v1/solutions."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.challenges.tables import files, modules
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team

SOLUTIONS = "/api/v1/solutions"
TAKEN = {"challenge_id": ["A solution for this challenge already exists"]}
Make = Callable[..., Any]


def written(platform: MemoryPlatform, challenge: int, state: str = "visible") -> str:
    """The path of a new solution."""
    body = {"challenge_id": challenge, "content": "Use *force*", "state": state}
    return f"{SOLUTIONS}/{platform.admin().post(SOLUTIONS, body).data['id']}"


def unlock(client: Client, path: str) -> Reply:
    return client.post("/api/v1/unlocks", {"type": "solutions", "target": int(path.rpartition("/")[2])})


def id_of(client: Client) -> int:
    number: int = client.get("/api/v1/users/me").data["id"]
    return number


def test_all_but_reading_one_is_for_administrators(platform: MemoryPlatform, make: Make) -> None:
    one, ann = written(platform, make(a_challenge)), platform.player("ann")
    replies = (ann.get(SOLUTIONS), ann.post(SOLUTIONS, {}), ann.patch(one, {}), ann.delete(one))
    assert [reply.status for reply in replies] == [403] * 4


def test_a_solution_is_made_changed_and_listed(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    made = admin.post(SOLUTIONS, {"challenge_id": str(number), "content": "*so*, {ctf_name}", "state": None}).data
    assert made == {
        "id": made["id"],
        "challenge_id": number,
        "challenge": number,
        "content": "*so*, {ctf_name}",
        "state": "hidden",
    }
    one = f"{SOLUTIONS}/{made['id']}"
    assert admin.get(SOLUTIONS).data == [made]
    assert admin.get(one).data == {
        "id": made["id"],
        "challenge_id": number,
        "content": "*so*, {ctf_name}",
        "html": "<p><em>so</em>, Test CTF</p>\n",
        "state": "hidden",
    }
    assert admin.patch(one, {}).data == made
    assert admin.patch(one, {"state": "solved"}).data == {**made, "state": "solved"}
    assert admin.patch(one, {"content": "no"}).data == {**made, "state": "solved", "content": "no"}
    assert admin.patch(one, {"challenge_id": None}).data["challenge"] is None


def test_what_a_solution_can_not_be(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    wrong = {"challenge_id": "x", "content": 5, "state": [1]}
    assert admin.post(SOLUTIONS, wrong).errors == {
        "challenge_id": "value is not a valid integer",
        "content": "str type expected",
        "state": "str type expected",
    }
    one = written(platform, number)
    assert admin.patch(one, {"content": 5, "state": None}).errors == {
        "content": ["Not a valid string."],
        "state": ["Field may not be null."],
    }
    other = written(platform, make(a_challenge))
    for reply in (
        admin.post(SOLUTIONS, {"challenge_id": number}),
        admin.post(SOLUTIONS, {"challenge_id": 999}),
        admin.patch(other, {"challenge_id": number}),
    ):
        assert (reply.status, reply.errors) == (400, TAKEN)
    assert len(admin.get(SOLUTIONS).data) == 2


def test_solutions_are_found_by_their_state(platform: MemoryPlatform, make: Make) -> None:
    written(platform, make(a_challenge), "hidden")
    written(platform, make(a_challenge), "solved")
    admin = platform.admin()

    def found(query: str) -> list[int]:
        return [solution["id"] for solution in admin.get(f"{SOLUTIONS}?{query}").data]

    assert found("") == [1, 2]
    assert found("state=solved") == found("q=olv&field=state") == [2]
    assert list(admin.get(f"{SOLUTIONS}?field=content").errors) == ["field"]


def test_a_player_reads_a_solution_once_it_is_unlocked(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    one, ann = written(platform, number), platform.player("ann")
    locked = {"id": 1, "challenge_id": number, "state": "visible"}
    assert ann.get(one).data == locked
    assert unlock(ann, one).status == 200
    assert ann.get(one).data == {**locked, "content": "Use *force*", "html": "<p>Use <em>force</em></p>\n"}
    assert platform.player("ben").get(one).data == locked
    assert platform.client().get(one, content_type="application/json").status == 403


def test_what_one_member_unlocks_the_team_reads(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    team, one = make(a_team), written(platform, make(a_challenge))
    assert unlock(platform.player("ann", team_id=team), one).status == 200
    assert "content" in platform.player("ben", team_id=team).get(one).data
    assert "content" not in platform.player("cat", team_id=make(a_team)).get(one).data
    assert "content" not in platform.player("dan").get(one).data


def test_what_was_unlocked_before_teams_played_is_open_to_nobody_without_one(
    platform: MemoryPlatform, make: Make
) -> None:
    one, ann, ben = written(platform, make(a_challenge)), platform.player("ann"), platform.player("ben")
    assert unlock(ann, one).status == 200
    platform.configure(user_mode="teams")
    assert "content" not in ben.get(one).data


def test_a_solution_may_be_for_those_who_have_solved_it(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    one, ann = written(platform, number, "solved"), platform.player("ann")
    detail = f"/api/v1/challenges/{number}"
    assert (ann.get(one).status, ann.get(detail).data["solution_id"]) == (404, None)
    make(a_solve, number, id_of(ann))
    assert (ann.get(one).status, ann.get(detail).data["solution_id"]) == (200, 1)


@pytest.mark.parametrize("state", ["hidden", "other", ""])
def test_a_hidden_solution_is_not_there(platform: MemoryPlatform, make: Make, state: str) -> None:
    number = make(a_challenge)
    one, ann = written(platform, number), platform.player("ann")
    assert unlock(ann, one).status == 200
    assert "content" in ann.get(one).data
    platform.admin().patch(one, {"state": state})
    assert ann.get(one).status == 404
    assert ann.get(f"/api/v1/challenges/{number}").data["solution_id"] is None
    assert platform.admin().get(one).data["content"] == "Use *force*"


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"state": "hidden"}, 404),
        ({"state": "locked"}, 200),
        ({"scheduled_at": "later"}, 404),
        ({"module_id": 1}, 404),
        ({"requirements": {"prerequisites": [1]}}, 404),
        ({"requirements": {"prerequisites": [1], "anonymize": True}}, 404),
    ],
)
def test_a_solution_is_there_where_its_challenge_is(
    platform: MemoryPlatform, make: Make, columns: dict[str, Any], status: int
) -> None:
    make(insert_row, modules, {"id": 1, "name": "closed"})
    make(a_challenge, id=1)
    if "scheduled_at" in columns:
        columns = {"scheduled_at": platform.now + timedelta(hours=1)}
    one = written(platform, make(a_challenge, **columns))
    assert platform.player("ann").get(one).status == status
    assert platform.admin().get(one).status == 200


def test_a_solution_of_no_challenge_is_there_for_administrators(platform: MemoryPlatform) -> None:
    one = f"{SOLUTIONS}/{platform.admin().post(SOLUTIONS, {'state': 'visible'}).data['id']}"
    assert platform.admin().get(one).data["challenge_id"] is None
    assert platform.player("ann").get(one).status == 404


def test_a_solution_goes_with_its_files_and_unlocks(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    one, ann, admin = written(platform, number), platform.player("ann"), platform.admin()
    make(insert_row, files, {"type": "solution", "location": "abc/notes.txt", "solution_id": 1})
    unlock(ann, one)
    assert admin.delete(one).json == {"success": True}
    for reply in (admin.get(one), admin.patch(one, {"state": "x"}), admin.delete(one), ann.get(f"{SOLUTIONS}/x")):
        assert reply.status == 404
    for column in (unlocks.c.id, files.c.id):
        assert platform.run(lambda conn, column=column: conn.execute(select(column)).scalars().all()) == []
    assert ann.get(f"/api/v1/challenges/{number}").data["solution_state"] == "hidden"
    assert "content" not in ann.get(written(platform, number)).data


def test_solutions_are_for_the_time_of_the_event(platform: MemoryPlatform, make: Make) -> None:
    one, ann = written(platform, make(a_challenge)), platform.player("ann")
    platform.configure(end=int(platform.now.timestamp()) - 1)
    assert ann.get(one).json == {"message": "Test CTF has ended"}
    platform.configure(view_after_ctf=True)
    assert ann.get(one).status == 200
    platform.configure(verify_emails=True)
    assert platform.player("new", verified=False).get(one).status == 403
