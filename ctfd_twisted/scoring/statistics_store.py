"""Numbers for administrators: who registered, what was answered, what was solved. No freeze applies to any of them.

Each is made by a number of statements that does not grow with the competition.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypedDict

import msgspec
from sqlalchemy import JSON, Column, ColumnElement, Connection, Integer, Table, Text, cast, distinct, func, select
from sqlalchemy.types import TypeDecorator

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Impossible, NotFound
from ctfd_twisted.http.dates import iso
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.buckets import bucketed
from ctfd_twisted.scoring.store import standings
from ctfd_twisted.scoring.tables import solves
from ctfd_twisted.scoring.values import counted_solves

#: Never shown, not even to administrators: hashes of passwords, and secrets of accounts.
_KEPT: Final = frozenset({"password", "secret"})
#: So many rows are taken from the driver at once.
_AT_ONCE: Final = 10_000
_NOT_FOUND: Final = "That could not be found"


class UserCounts(TypedDict):
    """How many users there are, and how many with a verified address."""

    registered: int
    confirmed: int


class TeamCounts(TypedDict):
    """How many teams there are."""

    registered: int


class ChallengeSolves(TypedDict):
    """How often a challenge was solved by listed accounts."""

    id: int
    name: str | None
    solves: int


class ChallengeShare(TypedDict):
    """Which share, from 0 to 1, of the listed accounts with any solve has solved a challenge."""

    id: int
    name: str | None
    percentage: float


class ScoreSpread(TypedDict):
    """How many accounts are in each bucket of scores, by its upper bound."""

    brackets: dict[str, int]


def count_users(conn: Connection) -> UserCounts:
    """How many users there are, and how many with a verified address; administrators and the hidden count."""
    confirmed = select(func.count()).select_from(users).where(users.c.verified.is_(True)).scalar_subquery()
    row = conn.execute(select(func.count().label("registered"), confirmed.label("confirmed")).select_from(users)).one()
    return {"registered": row.registered, "confirmed": row.confirmed}


def count_teams(conn: Connection) -> TeamCounts:
    """How many teams there are, whoever plays."""
    return {"registered": conn.execute(select(func.count()).select_from(teams)).scalar_one()}


def count_by(conn: Connection, table: Table, name: str) -> dict[str, int]:
    """How many rows have each value in the column *name*; NULL is a value that none of them has.

    Raises ``NotFound`` for a column that does not exist or that nobody sees.
    """
    column = _column(table, name)
    return _grouped(conn, column, func.count(column))


def count_by_as_json(conn: Connection, table: Table, name: str) -> msgspec.Raw:
    """``count_by`` as JSON, also of a primary key, which has as many values as there are rows."""
    column = _column(table, name)
    if not column.primary_key:
        return msgspec.Raw(msgspec.json.encode(count_by(conn, table, name)))
    # Written piece by piece from what the driver has, because objects for half a million rows, or one call that encodes
    # them all, would keep the reactor waiting.
    found = conn.execute(select(column))
    pieces: list[str] = []
    while some := found.cursor.fetchmany(_AT_ONCE):
        pieces.append(",".join([f'"{value}":1' for (value,) in some]))
    found.close()
    return msgspec.Raw(f"{{{','.join(pieces)}}}".encode())


def challenges_by(conn: Connection, name: str, function: str, target: str) -> dict[str, int]:
    """For each value in the column *name*, *function* (``count``, ``sum``) over *target* of the challenges there.

    A *target* that is no column is taken for ``category``; what is no number adds nothing to a sum. Raises
    ``NotFound`` for a *name* that is no column, and ``Impossible`` for another function.
    """
    column = _column(challenges, name)
    over = challenges.c.get(target, challenges.c.category)
    if function == "count":
        return _grouped(conn, column, func.count(over))
    if function != "sum":
        raise Impossible({"function": ["Challenges are counted by count or added up by sum"]})
    is_number = isinstance(over.type, Integer)
    return _grouped(conn, column, func.coalesce(func.sum(over), 0) if is_number else func.count() * 0)


def challenge_solves(conn: Connection, competition: Competition) -> list[ChallengeSolves]:
    """How often each challenge was solved: those that were, then the visible ones that nobody has solved; by value."""
    solved = counted_solves(conn, account_kind(teams_mode=competition.teams))
    rows = conn.execute(select(challenges).order_by(challenges.c.value, challenges.c.id)).all()
    known = [row for row in rows if row.id in solved]
    untouched = [row for row in rows if row.id not in solved and row.state not in {"hidden", "locked"}]
    return [{"id": row.id, "name": row.name, "solves": solved.get(row.id, 0)} for row in (*known, *untouched)]


def solve_percentages(conn: Connection, competition: Competition) -> list[ChallengeShare]:
    """Which share, from 0 to 1, of the listed accounts with any solve has solved each challenge; the largest first."""
    kind = account_kind(teams_mode=competition.teams)
    solved = counted_solves(conn, kind)
    solvers = conn.execute(
        select(func.count(distinct(kind.table.c.id)))
        .join(solves, kind.of(solves) == kind.table.c.id)
        .where(kind.listed, solves.c.challenge_id.is_not(None))
    ).scalar_one()
    rows = conn.execute(select(challenges.c.id, challenges.c.name).order_by(challenges.c.value, challenges.c.id))
    shares: list[ChallengeShare] = [
        {"id": row.id, "name": row.name, "percentage": solved.get(row.id, 0) / solvers if solvers else 0.0}
        for row in rows
    ]
    return sorted(shares, key=lambda share: -share["percentage"])


def score_distribution(conn: Connection, competition: Competition) -> ScoreSpread:
    """How the scores of all accounts are spread, in buckets as wide as a challenge is worth on average."""
    visible = func.sum(challenges.c.value).filter(challenges.c.state == "visible")
    row = conn.execute(select(func.coalesce(visible, 0).label("points"), func.count().label("number"))).one()
    scores = [standing.score for standing in reversed(standings(conn, competition, everyone=True))]
    counts = bucketed(scores, int(row.points) // max(row.number, 1))
    return {"brackets": {str(top): count for top, count in counts.items()}}


def _column(table: Table, name: str) -> Column[Any]:
    column = table.c.get(name)
    if column is None or name in _KEPT:
        raise NotFound(_NOT_FOUND)
    return column


def _grouped(conn: Connection, column: Column[Any], number: ColumnElement[int]) -> dict[str, int]:
    # PostgreSQL can't tell whether two JSON values are equal, only whether their texts are.
    kind = column.type.impl_instance if isinstance(column.type, TypeDecorator) else column.type
    by: ColumnElement[Any] = cast(column, Text) if isinstance(kind, JSON) else column
    counts: dict[str, int] = {}
    for value, counted in conn.execute(select(by, number).group_by(by)):
        key = _key(value)
        counts[key] = counts.get(key, 0) + int(counted)
    return counts


def _key(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case datetime():
            return iso(value) or "null"
    return str(value)
