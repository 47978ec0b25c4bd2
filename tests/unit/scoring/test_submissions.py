"""/api/v1/submissions: every answer that was given, for administrators."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.scoring.tables import solves
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import LONG_AGO, a_challenge, a_solve, a_submission, a_team, a_user
from ctfd_twisted.webhooks.tables import events

ALL = "/api/v1/submissions"
Make = Callable[..., Any]
DECAY = {"initial": 100, "minimum": 10, "decay": 10, "function": "linear"}


def value_of(platform: MemoryPlatform, challenge_id: int) -> int:
    def read(conn: Connection) -> Any:
        return conn.execute(select(challenges.c.value).where(challenges.c.id == challenge_id)).scalar_one()

    return int(platform.run(read))


def told(platform: MemoryPlatform) -> list[str]:
    return list(platform.run(lambda conn: conn.execute(select(events.c.event).order_by(events.c.seq)).scalars().all()))


def solve_ids(platform: MemoryPlatform) -> list[int]:
    return list(platform.run(lambda conn: conn.execute(select(solves.c.id)).scalars().all()))


def test_players_may_nothing_of_this(platform: MemoryPlatform, make: Make) -> None:
    ann, number = platform.player("ann"), make(a_submission, make(a_challenge), make(a_user))
    for path in (ALL, f"{ALL}/{number}"):
        assert ann.get(path).status == 403
    assert ann.post(ALL, {}).status == 403
    assert ann.patch(f"{ALL}/{number}", {"type": "correct"}).status == ann.delete(f"{ALL}/{number}").status == 403


def test_one_submission_with_whom_and_what_it_is_about(platform: MemoryPlatform, make: Make) -> None:
    user, team, challenge = make(a_user, name="ann"), make(a_team, name="team"), make(a_challenge, name="one", value=7)
    number = make(a_submission, challenge, user, team_id=team)
    shown = {
        "id": number,
        "challenge_id": challenge,
        "challenge": {"id": challenge, "name": "one", "category": "misc", "value": 7},
        "user_id": user,
        "user": {"id": user, "name": "ann"},
        "team_id": team,
        "team": {"id": team, "name": "team"},
        "ip": "203.0.113.7",
        "provided": "flag{wrong}",
        "type": "incorrect",
        "date": "2026-01-01T00:00:00+00:00",
    }
    admin = platform.admin()
    assert admin.get(f"{ALL}/{number}").data == shown
    assert admin.get(ALL).data == [shown]
    for path in ("999", "x"):
        assert admin.get(f"{ALL}/{path}").status == admin.delete(f"{ALL}/{path}").status == 404
        assert admin.patch(f"{ALL}/{path}", {"type": "correct"}).status == 404


def test_pages_of_20_and_at_most_100(platform: MemoryPlatform, make: Make) -> None:
    challenge, user = make(a_challenge), make(a_user)
    for _ in range(101):
        make(a_submission, challenge, user)
    admin = platform.admin()
    reply = admin.get(f"{ALL}?page=2")
    assert len(reply.data) == 20
    assert reply.json["meta"]["pagination"] == {
        "page": 2, "next": 3, "prev": 1, "pages": 6, "per_page": 20, "total": 101,
    }  # fmt: skip
    assert len(admin.get(f"{ALL}?per_page=500").data) == 100
    assert admin.get(f"{ALL}?page=9").data == []


def test_submissions_are_found(platform: MemoryPlatform, make: Make) -> None:
    ann, ben, challenge = make(a_user), make(a_user), make(a_challenge)
    one = make(a_submission, challenge, ann, provided="pear", ip="192.0.2.1")
    two = make(a_solve, challenge, ben, provided="apple")
    admin = platform.admin()

    def found(query: str) -> list[int]:
        return [submission["id"] for submission in admin.get(ALL + query).data]

    assert found(f"?challenge_id={challenge}") == found("?q=p&field=provided") == [one, two]
    assert found(f"?user_id={ann}") == found("?type=incorrect") == found("?ip=192.0.2.1") == [one]
    assert found("?provided=apple") == found(f"?q={ben}&field=user_id") == [two]
    assert found("?team_id=1") == []
    assert admin.get(f"{ALL}?field=date").errors == {
        "field": "value is not a valid enumeration member; permitted: "
        "'challenge_id', 'user_id', 'team_id', 'ip', 'provided', 'type'"
    }


class TestAdding:
    """POST."""

    def test_a_solve_moves_value_board_and_webhooks(self, platform: MemoryPlatform, make: Make) -> None:
        challenge = make(a_challenge, dynamic=DECAY, value=100)
        ann, ben, admin = make(a_user), make(a_user), platform.admin()
        for user in (ann, ben):
            body = {"challenge_id": challenge, "user_id": user, "provided": "by hand", "type": "correct"}
            made = admin.post(ALL, body).data
        assert (made["type"], made["user_id"], made["date"]) == ("correct", ben, "2026-03-14T15:00:00+00:00")
        assert made["challenge"]["value"] == value_of(platform, challenge) == 90
        assert [line["score"] for line in platform.client().get("/api/v1/scoreboard").data] == [90, 90]
        assert told(platform) == ["solve.created", "first_blood.created", "solve.created"]

    def test_what_is_no_solve_moves_nothing(self, platform: MemoryPlatform, make: Make) -> None:
        challenge, user, admin = make(a_challenge), make(a_user), platform.admin()
        for kind in ("incorrect", "partial", "discard", "ratelimited", None):
            assert admin.post(ALL, {"challenge_id": challenge, "user_id": user, "type": kind}).data["type"] == kind
        assert admin.post(ALL, {}).data["challenge"] is None
        assert solve_ids(platform) == []
        assert told(platform) == []

    def test_a_solve_that_is_there_is_not_added_twice(self, platform: MemoryPlatform, make: Make) -> None:
        challenge, user, team = make(a_challenge), make(a_user), make(a_team)
        number = make(a_solve, challenge, user, team_id=team)
        admin = platform.admin()
        for who in ({"user_id": user}, {"team_id": team}, {"user_id": make(a_user), "team_id": team}):
            assert admin.post(ALL, {"challenge_id": challenge, "type": "correct", **who}).status == 500
        assert admin.get(ALL).json["meta"]["pagination"]["total"] == 1
        assert solve_ids(platform) == [number]

    def test_what_is_refused(self, platform: MemoryPlatform, make: Make) -> None:
        admin, challenge = platform.admin(), make(a_challenge)
        assert admin.post(ALL, {"date": "2026-01-01"}).errors == {"date": ["Not a valid datetime."]}
        assert admin.post(ALL, {"user_id": "x", "ip": 5}).errors == {
            "user_id": "value is not a valid integer",
            "ip": "str type expected",
        }
        for body in (
            {"type": "nonsense"},
            {"user_id": 999},
            {"type": "correct"},
            {"type": "correct", "challenge_id": challenge},
            {"type": "correct", "challenge_id": challenge, "user_id": 999},
        ):
            assert admin.post(ALL, body).status == 500
        assert admin.get(ALL).data == []


class TestGradingAnew:
    """PATCH."""

    def test_a_wrong_answer_made_right_is_a_new_solve_of_its_time(self, platform: MemoryPlatform, make: Make) -> None:
        challenge = make(a_challenge, dynamic=DECAY, value=100)
        make(a_solve, challenge, make(a_user))
        user, admin = make(a_user), platform.admin()
        number = make(a_submission, challenge, user)
        made = admin.patch(f"{ALL}/{number}", {"type": "correct"}).data
        assert made["id"] != number
        assert (made["type"], made["user_id"], made["provided"]) == ("correct", user, "flag{wrong}")
        assert (made["ip"], made["date"]) == ("203.0.113.7", LONG_AGO.isoformat())
        assert admin.get(f"{ALL}/{number}").data["type"] == "discard"
        assert value_of(platform, challenge) == 90
        assert told(platform) == ["solve.created"]
        for each in (number, made["id"]):
            reply = admin.patch(f"{ALL}/{each}", {"type": "correct"})
            assert (reply.status, reply.errors) == (400, {"type": ["Solve already exists for this submission"]})

    def test_a_team_mates_solve_counts_as_there(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        challenge, team = make(a_challenge), make(a_team)
        make(a_solve, challenge, make(a_user, team_id=team), team_id=team)
        number = make(a_submission, challenge, make(a_user, team_id=team), team_id=team)
        assert platform.admin().patch(f"{ALL}/{number}", {"type": "correct"}).status == 400

    def test_a_solve_made_wrong_stays_as_a_wrong_answer(self, platform: MemoryPlatform, make: Make) -> None:
        challenge, user = make(a_challenge, dynamic=DECAY, value=90), make(a_user, name="ann")
        make(a_solve, challenge, make(a_user))
        number, admin = make(a_solve, challenge, user), platform.admin()
        assert len(platform.client().get("/api/v1/scoreboard").data) == 2
        shown = admin.patch(f"{ALL}/{number}", {"type": "incorrect"}).data
        assert (shown["id"], shown["type"]) == (number, "incorrect")
        assert number not in solve_ids(platform)
        assert value_of(platform, challenge) == 100
        assert len(platform.client().get("/api/v1/scoreboard").data) == 1
        assert platform.player("ann").get(f"/api/v1/challenges/{challenge}").data["solved_by_me"] is False

    @pytest.mark.parametrize("kind", ["partial", "discard", "incorrect", "ratelimited"])
    def test_what_is_no_solve_becomes_wrong(self, platform: MemoryPlatform, make: Make, kind: str) -> None:
        number = make(a_submission, make(a_challenge), make(a_user), type=kind)
        assert platform.admin().patch(f"{ALL}/{number}", {"type": "incorrect"}).data["type"] == "incorrect"

    @pytest.mark.parametrize("body", [{}, {"type": "partial"}, {"type": None}, {"type": []}, {"provided": "other"}])
    def test_all_else_changes_nothing(self, platform: MemoryPlatform, make: Make, body: dict[str, Any]) -> None:
        number, admin = make(a_solve, make(a_challenge), make(a_user)), platform.admin()
        before = admin.get(f"{ALL}/{number}").data
        assert admin.patch(f"{ALL}/{number}", body).data == before

    def test_what_names_nobody_cannot_be_right(self, platform: MemoryPlatform) -> None:
        admin = platform.admin()
        number = admin.post(ALL, {}).data["id"]
        assert admin.patch(f"{ALL}/{number}", {"type": "correct"}).status == 500


def test_a_removed_solve_is_gone_and_gives_its_points_back(platform: MemoryPlatform, make: Make) -> None:
    challenge, ann = make(a_challenge, dynamic=DECAY, value=90), make(a_user)
    kept = make(a_solve, challenge, ann)
    solved, wrong = make(a_solve, challenge, make(a_user)), make(a_submission, challenge, ann)
    admin = platform.admin()
    for number in (solved, wrong):
        assert admin.delete(f"{ALL}/{number}").json == {"success": True}
        assert admin.get(f"{ALL}/{number}").status == 404
    assert value_of(platform, challenge) == 100
    assert [submission["id"] for submission in admin.get(ALL).data] == solve_ids(platform) == [kept]
