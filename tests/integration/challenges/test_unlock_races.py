"""Hints that are unlocked at once: several nodes, one database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import func, select

from ctfd_twisted.challenges.unlocking import NewUnlock, unlock_hint
from ctfd_twisted.competition.store import read_competition, write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import Invalid
from ctfd_twisted.scoring.store import account_score
from ctfd_twisted.scoring.tables import awards, unlocks
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_hint, a_solve, a_team, a_user, an_award

NOW = datetime(2026, 3, 14, tzinfo=UTC)
AT_ONCE = 8


@pytest.fixture
def nodes(database_url: str) -> Iterator[list[Database]]:
    """As many nodes as unlocks come at once: on SQLite, each has the one writer of its process."""
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(AT_ONCE)]
    yield nodes
    for node in nodes:
        node.close()


def unlocked(nodes: list[Database], users: list[int], hints: list[int]) -> Counter[str]:
    """What came of it, when the users unlock the hints at once, each on a node of their own."""
    together = Barrier(AT_ONCE)

    def one(node: Database, user: int, hint: int) -> str:
        result_of(node.run(read_competition))  # who connects first would be first
        together.wait(30)
        try:
            result_of(node.run(unlock_hint, NOW, NewUnlock(user, is_admin=False, target=hint)))
        except Invalid as refused:
            return next(iter(refused.errors))
        return "ok"

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return Counter(threads.map(one, nodes, users, hints))


def run(nodes: list[Database], fn: Callable[..., Any], *args: Any) -> Any:
    return result_of(nodes[0].run(fn, *args))


def what_is_left(nodes: list[Database], account: int) -> tuple[int, int, int]:
    """Points, unlocks and payments."""

    def count(table: Any) -> Any:
        return select(func.count()).select_from(table)

    def look(conn: Any) -> tuple[int, int, int]:
        score = account_score(conn, read_competition(conn), account, frozen=False)
        paid = count(awards).where(awards.c.category == "hints")
        return score, conn.scalar(count(unlocks)), conn.scalar(paid)

    found: tuple[int, int, int] = run(nodes, look)
    return found


def test_points_for_one_hint_buy_one(nodes: list[Database]) -> None:
    def prepare(conn: Any) -> tuple[int, list[int]]:
        user, challenge = a_user(conn), a_challenge(conn, value=100)
        a_solve(conn, challenge, user)
        return user, [a_hint(conn, challenge, cost=60) for _ in range(AT_ONCE)]

    user, hints = run(nodes, prepare)
    assert unlocked(nodes, [user] * AT_ONCE, hints) == {"ok": 1, "score": AT_ONCE - 1}
    assert what_is_left(nodes, user) == (40, 1, 1)


def test_the_same_hint_is_charged_once(nodes: list[Database]) -> None:
    def prepare(conn: Any) -> tuple[int, int]:
        user = a_user(conn)
        an_award(conn, user, 1000)
        return user, a_hint(conn, a_challenge(conn), cost=60)

    user, hint = run(nodes, prepare)
    assert unlocked(nodes, [user] * AT_ONCE, [hint] * AT_ONCE) == {"ok": 1, "target": AT_ONCE - 1}
    assert what_is_left(nodes, user) == (940, 1, 1)


def test_members_of_a_team_spend_the_same_points(nodes: list[Database]) -> None:
    def prepare(conn: Any) -> tuple[int, list[int], list[int]]:
        write_config(conn, {"user_mode": "teams"})
        team, challenge = a_team(conn), a_challenge(conn, value=100)
        members = [a_user(conn, team_id=team) for _ in range(AT_ONCE)]
        a_solve(conn, challenge, members[0], team_id=team)
        same, others = a_hint(conn, challenge, cost=60), AT_ONCE // 2
        return team, members, [same] * others + [a_hint(conn, challenge, cost=60) for _ in range(others)]

    team, members, hints = run(nodes, prepare)
    assert unlocked(nodes, members, hints)["ok"] == 1
    assert what_is_left(nodes, team) == (40, 1, 1)
