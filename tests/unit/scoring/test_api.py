"""/api/v1/scoreboard and /api/v1/awards."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ctfd_twisted.accounts.tables import brackets
from ctfd_twisted.challenges.tables import modules
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user, an_award

BOARD = "/api/v1/scoreboard"
TOP = "/api/v1/scoreboard/top"
AWARDS = "/api/v1/awards"
Make = Callable[..., Any]
SECOND = timedelta(seconds=1)


class TestBoard:
    """The whole board."""

    def test_a_line_of_single_users(self, platform: MemoryPlatform, make: Make) -> None:
        bracket = make(insert_row, brackets, {"name": "students", "type": "users"})
        ann = make(a_user, name="ann", bracket_id=bracket, oauth_id=7)
        make(a_solve, make(a_challenge, value=70), ann)
        make(an_award, make(a_user, name="ben"), 30)
        make(a_user)
        first, second = platform.client().get(BOARD).data
        assert first == {
            "pos": 1,
            "account_id": ann,
            "account_url": f"/users/{ann}",
            "account_type": "user",
            "oauth_id": 7,
            "name": "ann",
            "score": 70,
            "bracket_id": bracket,
            "bracket_name": "students",
        }
        assert (second["pos"], second["name"], second["score"], second["bracket_name"]) == (2, "ben", 30, None)

    def test_a_line_of_a_team_has_its_listed_members(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        team = make(a_team, name="team")
        ann, idle = make(a_user, name="ann", team_id=team), make(a_user, name="idle", team_id=team)
        ghost = make(a_user, team_id=team, hidden=True)
        make(a_solve, make(a_challenge, value=70), ann, team_id=team)
        make(a_solve, make(a_challenge, value=10), ghost, team_id=team)
        make(an_award, make(a_user), 5)
        (line,) = platform.client().get(BOARD).data
        assert (line["account_url"], line["account_type"], line["score"]) == (f"/teams/{team}", "team", 80)
        assert [(member["id"], member["name"], member["score"]) for member in line["members"]] == [
            (ann, "ann", 70),
            (idle, "idle", 0),
        ]
        assert set(line["members"][0]) == {"id", "oauth_id", "name", "score", "bracket_id", "bracket_name"}

    def test_after_the_freeze_it_is_byte_for_byte_what_it_was(self, platform: MemoryPlatform, make: Make) -> None:
        number, other = make(a_challenge, dynamic={"function": "linear"}, value=500), make(a_challenge)
        for challenge in (number, other):
            make(a_flag, challenge)
        platform.configure(freeze=int(platform.now.timestamp()) + 60)
        ann = platform.player("ann")
        ann_id = ann.get("/api/v1/users/me").data["id"]

        def answers(client: Client, challenge: int) -> None:
            answer = {"challenge_id": challenge, "submission": "flag{right}"}
            assert client.post("/api/v1/challenges/attempt", answer).data["status"] == "correct"

        answers(ann, number)
        paths = (BOARD, f"{TOP}/10", f"/api/v1/challenges/{number}/solves", f"/api/v1/challenges/{other}/solves")
        onlooker = platform.player("onlooker")
        frozen = [onlooker.get(path).body for path in paths]
        platform.clock.advance(60)
        answers(platform.player("ben"), number)
        answers(ann, other)
        for user in (ann_id, make(a_user)):
            make(an_award, user, 1000, date=platform.now)
        assert [onlooker.get(path).body for path in paths] == frozen
        assert platform.admin().get(BOARD).body == frozen[0]

    @pytest.mark.parametrize(
        ("setting", "value", "player"),
        [
            ("score_visibility", "hidden", 403),
            ("score_visibility", "admins", 404),
            ("account_visibility", "admins", 404),
            ("score_visibility", "private", 200),
        ],
    )
    def test_who_may_ask(self, platform: MemoryPlatform, setting: str, value: str, player: int) -> None:
        platform.configure(**{setting: value})
        for path in (BOARD, f"{TOP}/5"):
            assert platform.player("ann").get(path).status == player
            assert platform.admin().get(path).status == 200
        if value == "private":
            assert platform.client().get(BOARD).location == "/login?next=%2Fapi%2Fv1%2Fscoreboard%3F"

    def test_a_new_name_shows_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        user = make(a_user, name="old")
        make(an_award, user)
        assert platform.client().get(BOARD).data[0]["name"] == "old"
        platform.admin().patch(f"/api/v1/users/{user}", {"name": "new"})
        assert platform.client().get(BOARD).data[0]["name"] == "new"


class TestTop:
    """The first of the board, with what they scored."""

    def test_solves_and_awards_by_time(self, platform: MemoryPlatform, make: Make) -> None:
        user = make(a_user, name="ann")
        number, worthless = make(a_challenge, value=70), make(a_challenge, value=0)
        make(a_solve, number, user, date=platform.now)
        make(an_award, user, -20, date=platform.now - SECOND / 4)
        make(a_solve, worthless, user, date=platform.now + SECOND)

        def scored(challenge_id: int | None, value: int, date: str) -> dict[str, Any]:
            return {
                "challenge_id": challenge_id,
                "account_id": user,
                "team_id": None,
                "user_id": user,
                "value": value,
                "date": date,
            }

        assert platform.client().get(f"{TOP}/10").data == {
            "1": {
                "id": user,
                "account_url": f"/users/{user}",
                "name": "ann",
                "score": 50,
                "bracket_id": None,
                "bracket_name": None,
                "solves": [
                    scored(None, -20, "2026-03-14T14:59:59.750000Z"),
                    scored(number, 70, "2026-03-14T15:00:00Z"),
                    scored(worthless, 0, "2026-03-14T15:00:01Z"),
                ],
            }
        }

    def test_what_is_not_released_to_all_scores_without_being_named(self, platform: MemoryPlatform, make: Make) -> None:
        module = make(insert_row, modules, {"name": "finals"})
        later = platform.now + timedelta(hours=1)
        numbers = [make(a_challenge, **columns) for columns in ({"scheduled_at": later}, {"module_id": module})]
        numbers.append(make(a_challenge, requirements={"prerequisites": [numbers[0]]}))
        ann = make(a_user)
        for number in numbers:
            make(a_solve, number, ann)

        def told() -> list[int | None]:
            return [solve["challenge_id"] for solve in platform.client().get(f"{TOP}/1").data["1"]["solves"]]

        assert told() == [None, None, numbers[2]], "that prerequisites are missing denies nothing"
        platform.clock.advance(3600)
        assert told() == [numbers[0], None, numbers[2]]

    def test_what_is_hidden_scores_without_being_named(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        team = make(a_team)
        ann, *ghosts = (make(a_user, team_id=team, **flags) for flags in ({}, {"hidden": True}, {"banned": True}))
        shown, locked, hidden = (make(a_challenge, state=state) for state in ("visible", "locked", "hidden"))
        for user, number in zip((ann, *ghosts), (hidden, shown, locked), strict=True):
            make(a_solve, number, user, team_id=team)
        make(an_award, ghosts[0], 5, team_id=team)
        make(an_award, None, 7, team_id=team)
        entry = platform.client().get(f"{TOP}/1").data["1"]
        assert entry["score"] == 312
        assert {(one["challenge_id"], one["user_id"], one["value"]) for one in entry["solves"]} == {
            (None, ann, 100),
            (shown, None, 100),
            (locked, None, 100),
            (None, None, 5),
            (None, None, 7),
        }

    def test_the_count_is_from_1_to_50(self, platform: MemoryPlatform, make: Make) -> None:
        for points in range(60):
            make(an_award, make(a_user), points + 1)
        client = platform.client()
        assert {count: len(client.get(f"{TOP}/{count}").data) for count in (0, 1, 10, 50, 51, 1000)} == {
            0: 1, 1: 1, 10: 10, 50: 50, 51: 50, 1000: 50,
        }  # fmt: skip
        for path in ("-1", "x", "1.5"):
            assert client.get(f"{TOP}/{path}").status == 404

    def test_a_bracket_ranks_from_1(self, platform: MemoryPlatform, make: Make) -> None:
        bracket = make(insert_row, brackets, {"name": "students", "type": "users"})
        make(an_award, make(a_user), 100)
        make(an_award, make(a_user, bracket_id=bracket, name="student"), 10)
        client = platform.client()
        assert client.get(f"{TOP}/10?bracket_id={bracket}").data["1"]["name"] == "student"
        for nothing in ("", "x", "999"):
            assert client.get(f"{TOP}/10?bracket_id={nothing}").data == {}

    def test_nobody_is_an_empty_object(self, platform: MemoryPlatform) -> None:
        assert platform.client().get(f"{TOP}/10").data == {}
        assert platform.client().get(BOARD).data == []


class TestAwards:
    """Awards, for administrators."""

    def test_players_may_nothing_of_this(self, platform: MemoryPlatform, make: Make) -> None:
        ann, award = platform.player("ann"), make(an_award, make(a_user))
        assert ann.get(AWARDS).status == ann.get(f"{AWARDS}/{award}").status == 403
        assert ann.post(AWARDS, {}).status == ann.delete(f"{AWARDS}/{award}").status == 403

    def test_an_award_is_given_and_moves_the_board(self, platform: MemoryPlatform, make: Make) -> None:
        user, admin = make(a_user), platform.admin()
        assert platform.client().get(BOARD).data == []
        body = {
            "id": 99, "date": "2000-01-01", "user_id": user, "name": "n", "description": "d", "value": "-7",
            "category": "c", "icon": "crown", "requirements": {"a": 1},
        }  # fmt: skip
        made = admin.post(AWARDS, body).data
        assert made == {
            "id": 1,
            "user_id": user,
            "user": user,
            "team_id": None,
            "team": None,
            "type": "standard",
            "name": "n",
            "description": "d",
            "date": "2026-03-14T15:00:00+00:00",
            "value": -7,
            "category": "c",
            "icon": "crown",
            "requirements": {"a": 1},
        }
        assert admin.get(f"{AWARDS}/1").data == made
        assert platform.client().get(BOARD).data[0]["score"] == -7
        assert admin.delete(f"{AWARDS}/1").json == {"success": True}
        assert platform.client().get(BOARD).data == []
        for path in ("1", "x"):
            assert admin.get(f"{AWARDS}/{path}").status == admin.delete(f"{AWARDS}/{path}").status == 404
            assert admin.patch(f"{AWARDS}/{path}", {}).status == 404

    def test_one_award_is_taken_back(self, platform: MemoryPlatform, make: Make) -> None:
        first, second = make(an_award, make(a_user)), make(an_award, make(a_user))
        assert platform.admin().delete(f"{AWARDS}/{first}").json == {"success": True}
        assert [award["id"] for award in platform.admin().get(AWARDS).data] == [second]

    def test_nothing_has_to_be_said(self, platform: MemoryPlatform) -> None:
        made = platform.admin().post(AWARDS, {}).data
        assert (made["user"], made["value"], made["name"]) == (None, None, None)

    def test_wrong_fields(self, platform: MemoryPlatform) -> None:
        admin = platform.admin()
        reply = admin.post(AWARDS, {"user_id": "x", "name": "n" * 81, "value": "1.5", "category": "c" * 81})
        assert reply.errors == {
            "user_id": ["Not a valid integer."],
            "name": ["Longer than maximum length 80."],
            "value": ["Not a valid integer."],
            "category": ["Longer than maximum length 80."],
        }
        assert admin.post(AWARDS, {"user_id": 999}).status == 500
        assert admin.get(AWARDS).data == []

    def test_where_teams_play_it_goes_to_the_users_team(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        admin, team = platform.admin(), make(a_team)
        member, alone = make(a_user, team_id=team), make(a_user)
        assert admin.post(AWARDS, {"user_id": member, "value": 5}).data["team_id"] == team
        assert platform.client().get(BOARD).data[0]["score"] == 5
        assert admin.post(AWARDS, {"user_id": 999, "value": 5}).status == 404
        assert admin.post(AWARDS, {"value": 5}).status == 500
        reply = admin.post(AWARDS, {"user_id": alone, "value": 5})
        assert (reply.status, reply.errors) == (
            400,
            {"team_id": ["User doesn't have a team to associate award with"]},
        )
        assert admin.post(AWARDS, {"user_id": alone, "team_id": team}).data["team"] == team

    def test_awards_are_found(self, platform: MemoryPlatform, make: Make) -> None:
        user = make(a_user)
        one = make(an_award, user, 5, name="first", category="7")
        two = make(an_award, make(a_user), 5, name="second", icon="crown", type="koth")
        admin = platform.admin()

        def found(query: str) -> list[int]:
            return [award["id"] for award in admin.get(AWARDS + query).data]

        assert found("") == found("?value=5") == [one, two]
        assert found(f"?user_id={user}") == found("?category=7") == found("?q=fir&field=name") == [one]
        assert found("?type=koth") == found("?q=crown&field=icon") == [two]
        assert found("?icon=7") == []
        assert admin.get(f"{AWARDS}?icon=crown").errors == {"icon": "value is not a valid integer"}
        assert admin.get(f"{AWARDS}?field=value").errors == {
            "field": "value is not a valid enumeration member; permitted: 'name', 'description', 'category', 'icon'"
        }
