"""What the first page of administrators shows, read in one transaction."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Select, func, select

from ctfd_twisted.accounts.tables import teams, tracking, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.koth.boards import failing_hills
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.scoring.values import counted_solves
from ctfd_twisted.webhooks.endpoints import DISABLED, list_endpoints


class ChallengeCount(msgspec.Struct, frozen=True):
    """A challenge with how many listed accounts have solved it."""

    id: int
    name: str
    category: str
    value: int
    solves: int


class Overview(msgspec.Struct, frozen=True):
    """Counts, visible challenges with the most solved first, and what administrators should know."""

    users: int
    teams: int
    addresses: int
    challenges: int
    points: int
    right: int
    wrong: int
    solved: tuple[ChallengeCount, ...]
    failing: tuple[tuple[int, str, int, str], ...]
    disabled: tuple[tuple[int, str, str], ...]


def read_overview(conn: Connection, competition: Competition) -> Overview:
    """The overview as it is now, whatever is frozen or hidden from players."""

    def count(statement: Select[Any]) -> int:
        return int(conn.execute(statement).scalar() or 0)

    visible = challenges.c.state == "visible"
    return Overview(
        users=count(select(func.count()).select_from(users)),
        teams=count(select(func.count()).select_from(teams)),
        addresses=count(select(func.count(tracking.c.ip.distinct()))),
        challenges=count(select(func.count()).select_from(challenges).where(visible)),
        points=count(select(func.sum(challenges.c.value)).where(visible, challenges.c.type != "koth")),
        right=count(select(func.count()).select_from(solves)),
        wrong=count(select(func.count()).select_from(submissions).where(submissions.c.type == "incorrect")),
        solved=_solved(conn, competition),
        failing=failing_hills(conn),
        disabled=tuple(
            (endpoint.id, endpoint.url, endpoint.last_error or "")
            for endpoint in list_endpoints(conn)
            if endpoint.state == DISABLED
        ),
    )


def _solved(conn: Connection, competition: Competition) -> tuple[ChallengeCount, ...]:
    counted = counted_solves(conn, account_kind(teams_mode=competition.teams))
    shown = conn.execute(select(challenges).where(challenges.c.state == "visible", challenges.c.type != "koth"))
    counts = [
        ChallengeCount(row.id, row.name or "", row.category or "", row.value or 0, counted.get(row.id, 0))
        for row in shown
    ]
    return tuple(sorted(counts, key=lambda challenge: (-challenge.solves, challenge.id)))
