"""Boards, submissions, awards and statistics make as many statements for thirty accounts as for two."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets, tracking
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import LONG_AGO, a_challenge, a_solve, a_submission, a_team, a_user, an_award
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.testing.statements import cost, counted_statements, small_and_large

OPEN = ["/api/v1/scoreboard", "/api/v1/scoreboard/top/50", "/api/v1/scoreboard/top/10?bracket_id=1", "/api/v1/ctftime"]
ADMINS = [
    "/api/v1/awards",
    "/api/v1/submissions?per_page=100",
    "/api/v1/statistics/users",
    "/api/v1/statistics/teams",
    "/api/v1/statistics/users/name",
    "/api/v1/statistics/submissions/ip",
    "/api/v1/statistics/challenges/category?function=sum&target=value",
    "/api/v1/statistics/challenges/solves",
    "/api/v1/statistics/challenges/solves/percentages",
    "/api/v1/statistics/scores/distribution",
    "/api/v1/statistics/progression/matrix",
]


def fill(conn: Connection, count: int) -> None:
    """Add *count* teams of one, each with a solve, a wrong answer and awards, and as many challenges of each kind."""
    for _ in range(count):
        bracket = insert_row(conn, brackets, {"name": "bracket", "type": "teams"})
        team = a_team(conn, bracket_id=bracket)
        user = a_user(conn, team_id=team, bracket_id=bracket)
        for challenge in (a_challenge(conn), a_challenge(conn, dynamic={}), a_hill(conn)):
            a_solve(conn, challenge, user, team_id=team)
            a_submission(conn, challenge, user, team_id=team)
            opened = {"type": "challenges.open", "user_id": user, "target": challenge, "date": LONG_AGO}
            insert_row(conn, tracking, opened)
        an_award(conn, user, team_id=team)
    touch(conn, EVERYTHING)


def event(count: int) -> MemoryPlatform:
    """An event of so many teams that is frozen after its start, since that asks for more."""
    platform = MemoryPlatform().setup("teams", freeze=int((LONG_AGO + timedelta(days=1)).timestamp()))
    platform.admin()
    platform.run(fill, count)
    return platform


@pytest.fixture(scope="module")
def platforms() -> Iterator[list[MemoryPlatform]]:
    """A small event and a large one."""
    yield from small_and_large(event)


@pytest.mark.parametrize("path", OPEN)
def test_the_board_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.client(), path) for platform in platforms)
    assert few == many <= 40


@pytest.mark.parametrize("path", OPEN)
def test_the_board_costs_nothing_while_nothing_has_moved(platforms: list[MemoryPlatform], path: str) -> None:
    platform = platforms[1]
    client = platform.client()
    client.get(path)
    with counted_statements(platform.db.engines) as sent:
        client.get(path)
    assert sent == []


@pytest.mark.parametrize("path", ADMINS)
def test_what_administrators_ask_for_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.admin(), path) for platform in platforms)
    assert few == many <= 40
