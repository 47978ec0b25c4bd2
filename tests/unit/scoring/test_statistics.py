"""/api/v1/statistics: numbers for administrators."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from ctfd_twisted.accounts.tables import brackets, tracking
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import (
    LONG_AGO,
    a_challenge,
    a_solve,
    a_submission,
    a_team,
    a_user,
    an_admin,
    an_award,
)

ALL = "/api/v1/statistics"
Make = Callable[..., Any]
PATHS = (
    "users", "teams", "users/type", "submissions/type", "challenges/category", "challenges/solves",
    "challenges/solves/percentages", "scores/distribution", "progression/matrix",
)  # fmt: skip


def opened(make: Make, user: int, challenge: int) -> None:
    make(insert_row, tracking, {"type": "challenges.open", "user_id": user, "target": challenge, "date": LONG_AGO})


@pytest.mark.parametrize("path", PATHS)
def test_players_may_nothing_of_this(platform: MemoryPlatform, path: str) -> None:
    assert platform.player("ann").get(f"{ALL}/{path}").status == 403
    assert platform.client().get(f"{ALL}/{path}", content_type="application/json").status == 403


@pytest.mark.parametrize("mode", ["users", "teams"])
@pytest.mark.parametrize("path", PATHS)
def test_the_number_of_statements_does_not_grow(platform: MemoryPlatform, make: Make, mode: str, path: str) -> None:
    platform.configure(user_mode=mode)
    admin = platform.admin()

    def statements() -> int:
        admin.get(f"{ALL}/users")  # who asks is known from memory from here on
        seen: list[object] = []

        def note(*facts: object) -> None:
            seen.append(facts)

        engine = platform.db.engines.read_engine
        event.listen(engine, "before_cursor_execute", note)
        assert admin.get(f"{ALL}/{path}").data is not None
        event.remove(engine, "before_cursor_execute", note)
        return len(seen)

    def play(rounds: int) -> None:
        for _ in range(rounds):
            team = make(a_team)
            user, challenge = make(a_user, team_id=team), make(a_challenge, dynamic={})
            make(a_solve, challenge, user, team_id=team)
            make(a_submission, challenge, user, team_id=team)
            opened(make, user, challenge)

    play(1)
    before = statements()
    play(12)
    assert statements() == before <= 9


def test_who_registered(platform: MemoryPlatform, make: Make) -> None:
    for columns in ({}, {"hidden": True}, {"banned": True, "verified": False}, {"verified": None}):
        make(a_user, **columns)
    make(an_admin)
    make(a_team, hidden=True)
    admin = platform.admin()
    assert admin.get(f"{ALL}/users").data == {"registered": 6, "confirmed": 4}
    assert admin.get(f"{ALL}/teams").data == {"registered": 1}


class TestByColumn:
    """Rows counted for each value of a column."""

    def test_users(self, platform: MemoryPlatform, make: Make) -> None:
        for columns in ({"country": "GB"}, {"country": "GB", "oauth_id": 7}, {"verified": False}):
            make(a_user, **columns)
        admin = platform.admin()
        assert admin.get(f"{ALL}/users/country").data == {"GB": 2, "null": 0}
        assert admin.get(f"{ALL}/users/verified").data == {"true": 3, "false": 1}
        assert admin.get(f"{ALL}/users/oauth_id").data == {"7": 1, "null": 0}
        assert admin.get(f"{ALL}/users/created").data == {LONG_AGO.isoformat(): 3, "2026-03-14T15:00:00+00:00": 1}

    def test_submissions(self, platform: MemoryPlatform, make: Make) -> None:
        challenge, user = make(a_challenge), make(a_user)
        make(a_solve, challenge, user)
        for text in ("null", "null", None):
            make(a_submission, challenge, user, provided=text)
        admin = platform.admin()
        assert admin.get(f"{ALL}/submissions/type").data == {"correct": 1, "incorrect": 3}
        assert admin.get(f"{ALL}/submissions/provided").data == {"null": 2, "flag{right}": 1}

    def test_challenges(self, platform: MemoryPlatform, make: Make) -> None:
        make(a_challenge, category="web", value=10, attribution="ann")
        make(a_challenge, category="web", value=20, state="hidden")
        make(a_challenge, category=None, value=None, requirements={"prerequisites": [1]})
        admin = platform.admin()

        def by(column: str) -> Any:
            return admin.get(f"{ALL}/challenges/{column}").data

        assert by("category") == by("category?function=count&target=nonsense") == {"web": 2, "null": 0}
        assert by("category?target=attribution") == {"web": 1, "null": 0}
        assert by("category?function=sum&target=value") == {"web": 30, "null": 0}
        assert by("state?function=sum") == {"visible": 0, "hidden": 0}
        assert by("requirements?target=id") == {"null": 2, '{"prerequisites": [1]}': 1}
        assert admin.get(f"{ALL}/challenges/category?function=max").status == 500

    def test_what_is_no_column(self, platform: MemoryPlatform) -> None:
        admin, text = platform.admin(), "That could not be found"
        replies = [admin.get(f"{ALL}/{table}/nonsense") for table in ("users", "submissions", "challenges")]
        assert [reply.status for reply in replies] == [404, 404, 404]
        assert [reply.json for reply in replies] == [
            {"success": False, "message": text},
            {"success": False, "errors": text},
            {"message": text},
        ]

    @pytest.mark.parametrize("column", ["password", "secret"])
    def test_hashes_and_secrets_are_kept(self, platform: MemoryPlatform, make: Make, column: str) -> None:
        make(a_user, **{column: "a hash"})
        assert platform.admin().get(f"{ALL}/users/{column}").status == 404


class TestSolves:
    """How often challenges were solved."""

    def test_the_solved_come_first_and_the_hidden_only_if_solved(self, platform: MemoryPlatform, make: Make) -> None:
        dear, cheap = make(a_challenge, value=500, name="dear"), make(a_challenge, value=1, name="cheap")
        hidden, locked = make(a_challenge, state="hidden", value=50, name="old"), make(a_challenge, state="locked")
        make(a_challenge, state="hidden")
        ghost = make(a_user, hidden=True)
        for challenge in (dear, hidden):
            make(a_solve, challenge, make(a_user))
        make(a_solve, locked, ghost)
        make(a_solve, cheap, ghost)
        assert platform.admin().get(f"{ALL}/challenges/solves").data == [
            {"id": hidden, "name": "old", "solves": 1},
            {"id": dear, "name": "dear", "solves": 1},
            {"id": cheap, "name": "cheap", "solves": 0},
        ]

    def test_the_freeze_does_not_stop_them(self, platform: MemoryPlatform, make: Make) -> None:
        challenge = make(a_challenge)
        platform.configure(freeze=int((LONG_AGO - timedelta(days=1)).timestamp()))
        make(a_solve, challenge, make(a_user))
        admin = platform.admin()
        assert admin.get(f"{ALL}/challenges/solves").data[0]["solves"] == 1
        assert admin.get(f"{ALL}/scores/distribution").data == {"brackets": {"100": 1}}

    def test_percentages_are_of_those_who_solved_anything(self, platform: MemoryPlatform, make: Make) -> None:
        easy, hard = make(a_challenge, value=500), make(a_challenge, value=1)
        untouched = make(a_challenge, state="hidden", value=0)
        ann, ben, ghost = make(a_user), make(a_user), make(a_user, banned=True)
        make(a_user)
        for user in (ann, ben, ghost):
            make(a_solve, easy, user)
        make(a_solve, hard, ann)
        shares = platform.admin().get(f"{ALL}/challenges/solves/percentages").data
        assert [(share["id"], share["percentage"]) for share in shares] == [(easy, 1.0), (hard, 0.5), (untouched, 0.0)]

    def test_nobody_solved_anything(self, platform: MemoryPlatform, make: Make) -> None:
        make(a_challenge)
        admin = platform.admin()
        assert admin.get(f"{ALL}/challenges/solves/percentages").data[0]["percentage"] == 0.0
        assert admin.get(f"{ALL}/scores/distribution").data == {"brackets": {}}


def test_the_spread_of_scores(platform: MemoryPlatform, make: Make) -> None:
    """Buckets are as wide as the visible points divided by the number of all challenges."""
    make(a_challenge, value=300)
    make(a_challenge, value=999, state="hidden")
    for points, columns in ((-5, {}), (100, {}), (150, {}), (200, {"hidden": True})):
        make(an_award, make(a_user, **columns), points)
    assert platform.admin().get(f"{ALL}/scores/distribution").data == {"brackets": {"150": 3, "300": 1}}


class TestMatrix:
    """Who has solved, tried and opened what."""

    def test_a_line(self, platform: MemoryPlatform, make: Make) -> None:
        bracket = make(insert_row, brackets, {"name": "b", "description": "d", "type": "users"})
        ann, ghost = make(a_user, name="ann", bracket_id=bracket), make(a_user, hidden=True)
        last, second, first = (
            make(a_challenge, name="last", value=1),
            make(a_challenge, value=20, position=1),
            make(a_challenge, value=10, position=1),
        )
        hidden = make(a_challenge, state="hidden")
        for challenge in (first, hidden):
            make(a_solve, challenge, ann)
            make(a_solve, challenge, ghost)
            opened(make, ann, challenge)
        for challenge in (second, second, hidden):
            make(a_submission, challenge, ann)
        opened(make, ann, last)
        data = platform.admin().get(f"{ALL}/progression/matrix").data
        line, blank = data["scoreboard"]
        assert line == {
            "id": ann,
            "name": "ann",
            "score": 110,
            "place": 1,
            "url": f"/admin/users/{ann}",
            "bracket_id": bracket,
            "bracket_name": "b",
            "solves": [first],
            "attempts": [second],
            "opens": [last, first],
        }
        assert (blank["id"], blank["solves"], blank["attempts"], blank["opens"]) == (ghost, [], [], [])
        assert [challenge["id"] for challenge in data["challenges"]] == [first, second, last]
        assert data["challenges"][2] == {
            "id": last,
            "name": "last",
            "value": 1,
            "position": 0,
            "category": "misc",
            "url": f"/admin/challenges/{last}",
        }
        assert data["brackets"] == [{"id": bracket, "name": "b", "description": "d", "type": "users"}]

    def test_where_teams_play_any_member_opens_for_all(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        team, challenge = make(a_team), make(a_challenge)
        ann, ben = make(a_user, team_id=team), make(a_user, team_id=team)
        make(a_solve, challenge, ann, team_id=team)
        make(a_submission, challenge, ben, team_id=team)
        for user in (ann, ben):
            opened(make, user, challenge)
        (line,) = platform.admin().get(f"{ALL}/progression/matrix").data["scoreboard"]
        assert (line["id"], line["url"]) == (team, f"/admin/teams/{team}")
        assert line["solves"] == line["attempts"] == line["opens"] == [challenge]

    def test_at_most_a_hundred(self, platform: MemoryPlatform, make: Make) -> None:
        for points in range(103):
            make(an_award, make(a_user), points + 1)
        scoreboard = platform.admin().get(f"{ALL}/progression/matrix").data["scoreboard"]
        assert [line["place"] for line in scoreboard] == list(range(1, 101))
