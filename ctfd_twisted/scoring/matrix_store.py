"""The progress of the first hundred: which challenges each has solved, tried and opened. For administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypedDict

from sqlalchemy import Connection, Select, select

from ctfd_twisted.accounts.tables import brackets, tracking, users
from ctfd_twisted.challenges.opened import OPENED
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.accounts import AccountKind, account_kind
from ctfd_twisted.scoring.store import Standing, standings
from ctfd_twisted.scoring.tables import solves, submissions

#: So many accounts are shown.
_SHOWN: Final = 100


class Progress(TypedDict):
    """One account with the ids of the visible challenges that it has solved, tried wrongly and opened.

    Of the hidden and the banned these are empty. ``url`` begins at the site's root.
    """

    id: int
    name: str
    score: int
    place: int
    url: str
    bracket_id: int | None
    bracket_name: str | None
    solves: list[int]
    attempts: list[int]
    opens: list[int]


class MatrixChallenge(TypedDict):
    """A visible challenge; ``url`` begins at the site's root."""

    id: int
    name: str | None
    value: int | None
    position: int
    category: str | None
    url: str


class MatrixBracket(TypedDict):
    """A bracket."""

    id: int
    name: str | None
    description: str | None
    type: str | None


class ProgressMatrix(TypedDict):
    """The first hundred of the board as administrators see it, against all visible challenges."""

    scoreboard: list[Progress]
    challenges: list[MatrixChallenge]
    brackets: list[MatrixBracket]


def progression_matrix(conn: Connection, competition: Competition, root: str) -> ProgressMatrix:
    """The first hundred of the board as administrators see it, all visible challenges, and the brackets.

    *root* stands before each URL. No freeze applies.
    """
    kind = account_kind(teams_mode=competition.teams)
    board = standings(conn, competition, everyone=True)[:_SHOWN]
    shown = [standing.account_id for standing in board if not (standing.hidden or standing.banned)]
    progress = [_by_account(conn, statement) for statement in _progress(kind, shown)]
    return {
        "scoreboard": [_line(standing, progress, f"{root}/admin/{kind.word}s") for standing in board],
        "challenges": _challenges(conn, f"{root}/admin/challenges"),
        "brackets": [
            {"id": row.id, "name": row.name, "description": row.description, "type": row.type}
            for row in conn.execute(select(brackets).order_by(brackets.c.id))
        ],
    }


def _line(standing: Standing, progress: Sequence[dict[int, list[int]]], where: str) -> Progress:
    solved, tried, opened = (done.get(standing.account_id, []) for done in progress)
    return {
        "id": standing.account_id,
        "name": standing.name,
        "score": standing.score,
        "place": standing.place,
        "url": f"{where}/{standing.account_id}",
        "bracket_id": standing.bracket_id,
        "bracket_name": standing.bracket_name,
        "solves": solved,
        "attempts": tried,
        "opens": opened,
    }


def _challenges(conn: Connection, where: str) -> list[MatrixChallenge]:
    ordered = (
        select(challenges)
        .where(challenges.c.state == "visible")
        .order_by(challenges.c.position == 0, challenges.c.position, challenges.c.value, challenges.c.category)
        .order_by(challenges.c.id)
    )
    return [
        {
            "id": row.id,
            "name": row.name,
            "value": row.value,
            "position": row.position,
            "category": row.category,
            "url": f"{where}/{row.id}",
        }
        for row in conn.execute(ordered)
    ]


def _progress(kind: AccountKind, shown: Sequence[int]) -> tuple[Select[Any], ...]:
    """What the accounts *shown* have solved, tried wrongly and opened: pairs of account and visible challenge."""
    solved = select(kind.of(solves), challenges.c.id).join(challenges, challenges.c.id == solves.c.challenge_id)
    tried = (
        select(kind.of(submissions), challenges.c.id)
        .join(challenges, challenges.c.id == submissions.c.challenge_id)
        .where(submissions.c.type == "incorrect")
    )
    # What a member of the team has opened, the team has.
    account = users.c.team_id if kind.table is not users else users.c.id
    opened = (
        select(account, challenges.c.id)
        .select_from(tracking)
        .join(users, users.c.id == tracking.c.user_id)
        .join(challenges, challenges.c.id == tracking.c.target)
        .where(tracking.c.type == OPENED)
    )
    return (
        _visible(solved, kind.of(solves), shown),
        _visible(tried, kind.of(submissions), shown),
        _visible(opened, account, shown),
    )


def _visible(pairs: Select[Any], account: Any, shown: Sequence[int]) -> Select[Any]:
    return pairs.where(account.in_(shown), challenges.c.state == "visible").distinct().order_by(challenges.c.id)


def _by_account(conn: Connection, pairs: Select[Any]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for account_id, challenge_id in conn.execute(pairs):
        found.setdefault(account_id, []).append(challenge_id)
    return found
