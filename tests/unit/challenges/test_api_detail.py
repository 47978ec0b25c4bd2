"""GET /api/v1/challenges/<id>, and what hangs on a challenge."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import tracking, users
from ctfd_twisted.challenges.tables import files, hints, ratings, solutions, tags
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_submission, a_team, a_user

LIST = "/api/v1/challenges"
ATTEMPT = f"{LIST}/attempt"
Make = Callable[..., Any]


def detail(client: Client, challenge_id: int) -> dict[str, Any]:
    data: dict[str, Any] = client.get(f"{LIST}/{challenge_id}").data
    return data


def id_of(platform: MemoryPlatform, name: str) -> int:
    found: int = platform.run(lambda conn: conn.execute(select(users.c.id).where(users.c.name == name)).scalar())
    return found


def test_the_detail_has_the_fields_that_clients_know(platform: MemoryPlatform, make: Make) -> None:
    number = make(
        a_challenge,
        name="one",
        category="web",
        description="*Do* it",
        attribution="me",
        connection_info="nc host 1",
        scheduled_at=platform.now,
        max_attempts=7,
    )
    make(insert_row, tags, {"challenge_id": number, "value": "easy"})
    shown = detail(platform.player("ann"), number)
    assert "Do" in shown.pop("view")
    assert shown == {
        "id": number,
        "name": "one",
        "value": 100,
        "description": "*Do* it",
        "attribution": "me",
        "connection_info": "nc host 1",
        "next_id": None,
        "category": "web",
        "state": "visible",
        "max_attempts": 7,
        "position": 0,
        "logic": "any",
        "initial": None,
        "decay": None,
        "minimum": None,
        "function": "static",
        "scheduled_at": "2026-03-14T15:00:00",
        "ends_at": None,
        "type": "standard",
        "type_data": {
            "id": "standard",
            "name": "standard",
            "templates": {page: f"/plugins/challenges/assets/{page}.html" for page in ("create", "update", "view")},
            "scripts": {page: f"/plugins/challenges/assets/{page}.js" for page in ("create", "update", "view")},
        },
        "solves": 0,
        "solved_by_me": False,
        "attempts": 0,
        "files": [],
        "tags": ["easy"],
        "hints": [],
        "module_id": None,
        "rating": None,
        "ratings": {"up": 0, "down": 0, "count": 0},
        "solution_id": None,
        "solution_state": "hidden",
    }


def test_a_dynamic_challenge_shows_its_decay(platform: MemoryPlatform, make: Make) -> None:
    shown = detail(platform.player("ann"), make(a_challenge, dynamic={"minimum": 7}))
    assert (shown["initial"], shown["minimum"], shown["decay"], shown["function"]) == (500, 7, 10, "logarithmic")
    assert shown["type_data"]["scripts"]["view"] == "/plugins/dynamic_challenges/assets/view.js"


def test_a_hill_shows_its_settings_to_administrators_alone(platform: MemoryPlatform) -> None:
    settings = {"url": "http://198.51.100.7:31337/status", "interval": 60, "reward": 10, "api_key": "very secret"}
    created = platform.admin().post(LIST, {"name": "hill", "type": "koth", **settings}).data
    assert created["api_key"] == "very secret"
    shown = platform.player("ann").get(f"{LIST}/{created['id']}")
    assert shown.data["koth"]["token"]
    assert shown.data["value"] == 10
    assert "very secret" not in shown.text
    assert "198.51.100.7" not in shown.text


@pytest.mark.parametrize(
    ("columns", "player", "admin"),
    [
        ({"state": "hidden"}, 404, 200),
        ({"state": "locked"}, 404, 200),
        ({"state": "draft"}, 404, 200),
        ({"type": "gone"}, 500, 500),
        ({"requirements": {"prerequisites": [1]}}, 403, 200),
        ({"requirements": {"prerequisites": [99]}}, 200, 200),
    ],
)
def test_what_is_closed(platform: MemoryPlatform, make: Make, columns: dict[str, Any], player: int, admin: int) -> None:
    make(a_challenge, id=1)
    number = make(a_challenge, **columns)
    assert platform.player("ann").get(f"{LIST}/{number}").status == player
    assert platform.admin().get(f"{LIST}/{number}").status == admin


def test_a_scheduled_challenge_is_not_found_before_its_instant(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, scheduled_at=platform.now + timedelta(seconds=5))
    ann = platform.player("ann")
    assert ann.get(f"{LIST}/{number}").status == 404
    assert ann.get(f"{LIST}/{number}/solves").status == 404
    platform.clock.advance(5)
    assert ann.get(f"{LIST}/{number}").status == 200


@pytest.mark.parametrize("path", ["999", "abc", "-1", "9999999999999999999999", "1e3"])
def test_unknown_ids_are_not_found_in_json(platform: MemoryPlatform, path: str) -> None:
    for suffix in ("", "/solves", "/solution"):
        reply = platform.player("ann").get(f"{LIST}/{path}{suffix}")
        assert reply.status == 404
        assert set(reply.json) == {"message"}


def test_a_kind_that_is_not_installed_is_told(platform: MemoryPlatform, make: Make) -> None:
    reply = platform.player("ann").get(f"{LIST}/{make(a_challenge, type='gone')}")
    assert reply.json == {
        "message": "The underlying challenge type (gone) is not installed. This challenge can not be loaded."
    }


@pytest.mark.parametrize(("anonymize", "name"), [(True, "???"), ("preview", "second")])
def test_a_placeholder(platform: MemoryPlatform, make: Make, anonymize: object, name: str) -> None:
    first = make(a_challenge)
    needs = {"prerequisites": [first], "anonymize": anonymize}
    second = make(a_challenge, name="second", description="secret", requirements=needs)
    shown = detail(platform.player("ann"), second)
    assert shown == {
        "id": second,
        "type": "hidden",
        "name": name,
        "value": 0 if name == "???" else 100,
        "solves": None,
        "solved_by_me": False,
        "category": "???" if name == "???" else "misc",
        "tags": [],
        "template": "",
        "script": "",
        "logic": None,
        "solution_id": None,
    }


def test_the_next_challenge_is_suggested_to_those_who_may_know_of_it(platform: MemoryPlatform, make: Make) -> None:
    first = make(a_challenge)
    hidden = make(a_challenge, state="hidden")
    later = make(a_challenge, requirements={"prerequisites": [first]})
    make(a_flag, first)
    ann, admin = platform.player("ann"), platform.admin()
    admin.patch(f"{LIST}/{first}", {"next_id": hidden})
    assert detail(ann, first)["next_id"] is None
    assert detail(admin, first)["next_id"] == hidden
    admin.patch(f"{LIST}/{first}", {"next_id": later})
    assert detail(ann, first)["next_id"] is None
    ann.post(ATTEMPT, {"challenge_id": first, "submission": "flag{right}"})
    assert detail(ann, first)["next_id"] == later


class TestOwn:
    """What is the caller's own."""

    def test_attempts_are_the_accounts(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        number, team = make(a_challenge), make(a_team)
        ann, ben = platform.player("ann", team_id=team), platform.player("ben", team_id=team)
        for kind in ("incorrect", "partial", "discard", "ratelimited"):
            make(a_submission, number, id_of(platform, "ann"), team_id=team, type=kind)
        assert detail(ann, number)["attempts"] == detail(ben, number)["attempts"] == 2
        ben.post(ATTEMPT, {"challenge_id": number, "submission": "no"})
        assert detail(ann, number)["attempts"] == 3
        assert detail(platform.player("cleo", team_id=make(a_team)), number)["attempts"] == 0

    def test_with_a_timeout_only_recent_attempts_are_shown(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(max_attempts_behavior="timeout", max_attempts_timeout=30)
        number, ann = make(a_challenge), platform.player("ann")
        ann.post(ATTEMPT, {"challenge_id": number, "submission": "a"})
        platform.clock.advance(10)
        ann.post(ATTEMPT, {"challenge_id": number, "submission": "b"})
        seen = []
        for _ in range(5):
            seen.append(detail(ann, number)["attempts"])
            platform.clock.advance(10)
        assert seen == [2, 2, 1, 0, 0]

    def test_a_solve_shows_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        number, ann = make(a_challenge), platform.player("ann")
        make(a_flag, number)
        assert detail(ann, number)["solved_by_me"] is False
        ann.post(ATTEMPT, {"challenge_id": number, "submission": "flag{right}"})
        shown = detail(ann, number)
        assert (shown["solved_by_me"], shown["solves"], shown["attempts"]) == (True, 1, 1)
        shown = detail(platform.player("ben"), number)
        assert (shown["solved_by_me"], shown["solves"], shown["attempts"]) == (False, 1, 0)

    def test_hints_show_their_content_when_unlocked_and_after_the_end(
        self, platform: MemoryPlatform, make: Make
    ) -> None:
        number, ann = make(a_challenge), platform.player("ann")
        first = make(insert_row, hints, {"challenge_id": number, "content": "one", "cost": 5, "title": "A"})
        second = make(insert_row, hints, {"challenge_id": number, "content": "two", "cost": None})
        user = id_of(platform, "ann")
        make(insert_row, unlocks, {"user_id": user, "target": second, "type": "hints"})
        make(insert_row, unlocks, {"user_id": user, "target": first, "type": "solutions"})
        locked = [{"id": first, "cost": 5, "title": "A"}, {"id": second, "cost": 0, "title": None}]
        assert detail(ann, number)["hints"] == [locked[0], {**locked[1], "content": "two"}]
        assert detail(platform.player("ben"), number)["hints"] == locked
        platform.configure(end=int(platform.now.timestamp()) + 10, view_after_ctf=True)
        assert "content" not in detail(ann, number)["hints"][0]
        platform.clock.advance(11)
        assert [hint["content"] for hint in detail(ann, number)["hints"]] == ["one", "two"]

    def test_files_come_with_a_link_for_the_caller(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(challenge_visibility="public")
        number = make(a_challenge)
        file = make(insert_row, files, {"challenge_id": number, "type": "challenge", "location": "0123abcd/a_b.txt"})
        assert detail(platform.client(), number)["files"] == ["/files/0123abcd/a_b.txt"]
        (url,) = detail(platform.player("ann"), number)["files"]
        found = re.fullmatch(r"/files/0123abcd/a_b\.txt\?token=(.+)", url)
        assert found is not None
        payload = Keys(platform.settings.secret_key).read_signed(platform.now, found[1], 3600)
        assert payload == {"user_id": id_of(platform, "ann"), "team_id": None, "file_id": file}
        platform.clock.advance(3600)
        (later,) = detail(platform.player("ann"), number)["files"]
        assert later != url

    def test_the_first_look_of_a_player_is_remembered(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(challenge_visibility="public")
        number, ann = make(a_challenge), platform.player("ann")
        for client in (ann, ann, platform.admin(), platform.client()):
            detail(client, number)
        first = platform.now
        for wait in (timedelta(seconds=1), timedelta(hours=1), timedelta(seconds=1)):
            platform.clock.advance(wait.total_seconds())
            detail(ann, number)
        opened = select(tracking).where(tracking.c.type == "challenges.open")
        (row,) = platform.run(lambda conn: conn.execute(opened).all())
        assert (row.user_id, row.target, row.date) == (id_of(platform, "ann"), number, first)

    def test_nothing_of_one_account_is_shown_to_another(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        make(a_flag, number)
        ann, ben, admin = platform.player("ann"), platform.player("ben"), platform.admin()
        ann.post(ATTEMPT, {"challenge_id": number, "submission": "flag{right}"})
        for _ in range(2):
            assert detail(ann, number)["solved_by_me"]
            assert not detail(ben, number)["solved_by_me"]
            assert not detail(admin, number)["solved_by_me"]


@pytest.mark.parametrize(
    ("setting", "value", "player", "admin"),
    [
        ("score_visibility", "hidden", None, None),
        ("score_visibility", "admins", None, 1),
        ("account_visibility", "admins", None, 1),
        ("account_visibility", "private", 1, 1),
    ],
)
def test_the_count_of_solves_is_null_where_scores_or_accounts_are_not_shown(
    platform: MemoryPlatform, make: Make, setting: str, value: str, player: int | None, admin: int | None
) -> None:
    number, ann = make(a_challenge), platform.player("ann")
    make(a_solve, number, make(a_user))
    assert detail(ann, number)["solves"] == 1
    platform.configure(**{setting: value})
    assert detail(ann, number)["solves"] == player
    assert detail(platform.admin(), number)["solves"] == admin


class TestRatings:
    """Likes and dislikes."""

    @pytest.fixture
    def number(self, platform: MemoryPlatform, make: Make) -> int:
        number: int = make(a_challenge)
        platform.player("ann")
        rows = [(id_of(platform, "ann"), 1, "nice"), (make(a_user), 1, ""), (make(a_user), -1, "")]
        for user_id, value, review in rows:
            row = {"user_id": user_id, "challenge_id": number, "value": value, "review": review, "date": platform.now}
            make(insert_row, ratings, row)
        return number

    @pytest.mark.parametrize(
        ("setting", "own", "sums"),
        [
            (None, {"value": 1, "review": "nice"}, {"up": 2, "down": 1, "count": 3}),
            ("public", {"value": 1, "review": "nice"}, {"up": 2, "down": 1, "count": 3}),
            ("private", {"value": 1, "review": "nice"}, None),
            ("disabled", None, None),
        ],
    )
    def test_what_is_shown(
        self, platform: MemoryPlatform, number: int, setting: str | None, own: object, sums: object
    ) -> None:
        platform.configure(challenge_ratings=setting)
        shown = detail(platform.player("ann"), number)
        assert (shown["rating"], shown["ratings"]) == (own, sums)
        assert detail(platform.player("ben"), number)["rating"] is None

    def test_a_member_of_a_team_sees_their_own_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        team, challenge = make(a_team), make(a_challenge)
        ann, ben = (platform.player(name, team_id=team) for name in ("ann", "ben"))
        make(a_solve, challenge, id_of(platform, "ann"), team_id=team)
        assert [detail(one, challenge)["rating"] for one in (ann, ben)] == [None, None]
        assert ann.put(f"/api/v1/challenges/{challenge}/ratings", {"value": 1, "review": "fine"}).status == 200
        assert [detail(one, challenge)["rating"] for one in (ann, ben)] == [{"value": 1, "review": "fine"}, None]

    def test_they_stand_still_at_the_freeze(self, platform: MemoryPlatform, number: int) -> None:
        platform.configure(freeze=int(platform.now.timestamp()))
        assert detail(platform.player("ann"), number)["ratings"] == {"up": 0, "down": 0, "count": 0}
        assert detail(platform.admin(), number)["ratings"] == {"up": 2, "down": 1, "count": 3}


@pytest.mark.parametrize(
    ("state", "solved", "shown"),
    [
        ("hidden", True, False),
        ("visible", False, True),
        ("solved", False, False),
        ("solved", True, True),
        ("other", True, False),
    ],
)
def test_the_solution(platform: MemoryPlatform, make: Make, state: str, *, solved: bool, shown: bool) -> None:
    number, ann = make(a_challenge), platform.player("ann")
    solution = make(insert_row, solutions, {"challenge_id": number, "state": state, "content": "so"})
    if solved:
        make(a_solve, number, id_of(platform, "ann"))
    expected = solution if shown else None
    data = detail(ann, number)
    assert (data["solution_id"], data["solution_state"]) == (expected, state)
    assert ann.get(f"{LIST}/{number}/solution").data == {"id": expected, "state": state}


def test_where_there_is_no_solution(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, state="locked")
    assert platform.player("ann").get(f"{LIST}/{number}/solution").data == {"id": None, "state": "hidden"}
    hidden = make(a_challenge, state="hidden")
    assert platform.player("ann").get(f"{LIST}/{hidden}/solution").status == 404
    assert platform.admin().get(f"{LIST}/{hidden}/solution").status == 200


class TestSolves:
    """Who has solved it."""

    def test_listed_solvers_by_time(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge, state="locked")
        late, early = make(a_user, name="late"), make(a_user, name="early")
        second = timedelta(seconds=1)
        make(a_solve, number, late, date=platform.now)
        make(a_solve, number, early, date=platform.now - second / 2)
        make(a_solve, number, make(a_user, hidden=True))
        make(a_solve, number, make(a_user, banned=True))
        assert platform.player("ann").get(f"{LIST}/{number}/solves").data == [
            {"account_id": number, "name": name, "date": date, "account_url": f"/users/{number}"}
            for number, name, date in (
                (early, "early", "2026-03-14T14:59:59.500000Z"),
                (late, "late", "2026-03-14T15:00:00Z"),
            )
        ]

    def test_teams_solve_where_teams_play(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        number, team = make(a_challenge), make(a_team, name="team")
        make(a_solve, number, make(a_user, banned=True, team_id=team), team_id=team)
        (solve,) = platform.admin().get(f"{LIST}/{number}/solves").data
        assert (solve["account_id"], solve["name"], solve["account_url"]) == (team, "team", f"/teams/{team}")

    def test_the_freeze_holds_for_players_and_previews(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        make(a_solve, number, make(a_user), date=platform.now)
        platform.configure(freeze=int(platform.now.timestamp()))
        admin = platform.admin()
        assert platform.player("ann").get(f"{LIST}/{number}/solves").data == []
        assert len(admin.get(f"{LIST}/{number}/solves").data) == 1
        assert admin.get(f"{LIST}/{number}/solves?preview=true").data == []
        assert len(admin.get(f"{LIST}/{number}/solves?preview=").data) == 1

    def test_hidden_challenges_and_hidden_scores_have_none(self, platform: MemoryPlatform, make: Make) -> None:
        hidden, shown = make(a_challenge, state="hidden"), make(a_challenge)
        ann = platform.player("ann")
        assert ann.get(f"{LIST}/{hidden}/solves").status == 404
        platform.configure(score_visibility="hidden")
        assert ann.get(f"{LIST}/{shown}/solves").status == 403
        platform.configure(score_visibility="public", account_visibility="admins")
        assert ann.get(f"{LIST}/{shown}/solves").status == 404

    def test_a_ban_shows_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        number, user = make(a_challenge), make(a_user)
        make(a_solve, number, user)
        ann = platform.player("ann")
        assert len(ann.get(f"{LIST}/{number}/solves").data) == 1
        platform.admin().patch(f"/api/v1/users/{user}", {"banned": True})
        assert ann.get(f"{LIST}/{number}/solves").data == []
        assert detail(ann, number)["solves"] == 0


def test_a_player_without_a_team_is_refused_where_teams_play(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    number = make(a_challenge)
    assert platform.player("ann").get(f"{LIST}/{number}").status == 403
    assert platform.admin().get(f"{LIST}/{number}").status == 200


def test_an_administrator_who_is_one_no_more_sees_what_players_see(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, function="linear", initial=50, minimum=1, decay=1, value=50)
    admin = platform.admin()
    for _ in range(2):
        make(a_solve, number, make(a_user), date=platform.now)
    platform.admin("other").patch(f"{LIST}/{number}", {"decay": 10})
    platform.configure(freeze=int(platform.now.timestamp()))
    assert detail(admin, number)["value"] == 40

    def demote(conn: Connection) -> None:
        conn.execute(users.update().where(users.c.name == "admin").values(type="user"))

    make(demote)
    assert detail(admin, number)["value"] == 50
