"""Whatever is listed about challenges makes as many statements for thirty of everything as for two."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import audience_members, audiences
from ctfd_twisted.challenges.tables import (
    challenge_ends,
    challenge_topics,
    files,
    module_audience_access,
    modules,
    ratings,
    solutions,
    tags,
    topics,
)
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import (
    LONG_AGO,
    a_challenge,
    a_flag,
    a_hint,
    a_solve,
    a_submission,
    a_user,
)
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.testing.statements import cost, small_and_large

ONE = "/api/v1/challenges/1"
OPEN = ["/api/v1/challenges", "/api/v1/challenges?q=a&field=name", ONE, f"{ONE}/solves", f"{ONE}/solution"]
ADMINS = [
    "/api/v1/challenges?view=admin",
    *(f"{ONE}/{part}" for part in ("files", "tags", "topics", "hints", "flags", "requirements")),
    f"{ONE}/ratings?per_page=50",
    *(f"/api/v1/{part}" for part in ("flags", "hints", "tags", "topics", "unlocks", "solutions", "modules")),
    "/api/v1/modules/1/challenges",
    "/api/v1/modules/1/audiences",
    "/api/v1/hints/1?preview=1",
    "/api/v1/solutions/1",
]


def fill(conn: Connection, ann: int, count: int) -> None:
    """Add *count* of everything that challenge 1 can have, and *count* challenges with one of each."""
    for number in range(count):
        user = a_user(conn)
        module = insert_row(conn, modules, {"name": f"module {user}"})
        audience = insert_row(conn, audiences, {"name": f"audience {user}", "type": "standard"})
        insert_row(conn, module_audience_access, {"module_id": module, "audience_id": audience})
        insert_row(conn, module_audience_access, {"module_id": 1, "audience_id": audience})
        insert_row(conn, audience_members, {"audience_id": audience, "user_id": ann})
        others = [
            a_challenge(conn, requirements={"prerequisites": [1]}, next_id=1, module_id=module),
            a_challenge(conn, dynamic={}, requirements={"prerequisites": [1], "anonymize": "preview"}),
            a_hill(conn),
        ]
        insert_row(conn, challenge_ends, {"challenge_id": others[0], "ends_at": LONG_AGO + timedelta(days=number)})
        insert_row(conn, solutions, {"challenge_id": others[0], "content": "so", "state": "visible"})
        for challenge in (1, *others):
            a_flag(conn, challenge)
            hint = a_hint(conn, challenge, requirements={"prerequisites": [1]})
            insert_row(conn, tags, {"challenge_id": challenge, "value": "tag"})
            file = {"type": "challenge", "challenge_id": challenge, "location": f"{hint}/a.txt", "sha1sum": "0" * 40}
            insert_row(conn, files, file)
            topic = insert_row(conn, topics, {"value": f"topic {hint}"})
            insert_row(conn, challenge_topics, {"challenge_id": challenge, "topic_id": topic})
            a_submission(conn, challenge, ann)
            a_solve(conn, challenge, user)
            rating = {"user_id": user, "challenge_id": challenge, "value": 1, "review": "good", "date": LONG_AGO}
            insert_row(conn, ratings, rating)
            insert_row(conn, unlocks, {"user_id": ann, "type": "hints", "target": hint, "date": LONG_AGO})
    touch(conn, EVERYTHING)


def event(count: int) -> MemoryPlatform:
    """An event with so many of everything that is frozen after its start, since that asks for more."""
    platform = MemoryPlatform().setup(freeze=int((LONG_AGO + timedelta(days=1)).timestamp()))
    ann = platform.player("ann").get("/api/v1/users/me").data["id"]
    platform.admin()
    platform.run(insert_row, modules, {"id": 1, "name": "first"})
    platform.run(partial(a_challenge, id=1))
    platform.run(insert_row, solutions, {"id": 1, "challenge_id": 1, "content": "so", "state": "visible"})
    platform.run(fill, ann, count)
    return platform


@pytest.fixture(scope="module")
def platforms() -> Iterator[list[MemoryPlatform]]:
    """A small event and a large one."""
    yield from small_and_large(event)


@pytest.mark.parametrize("path", OPEN)
def test_what_players_ask_for_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.player("ann"), path) for platform in platforms)
    assert few == many <= 30


@pytest.mark.parametrize("path", OPEN + ADMINS)
def test_what_administrators_ask_for_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.admin(), path) for platform in platforms)
    assert few == many <= 30
