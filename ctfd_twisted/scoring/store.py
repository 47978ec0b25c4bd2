"""Standings, scores and places out of the database (docs/rules.md#standings)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    cast,
    func,
    or_,
    select,
)

from ctfd_twisted.accounts.tables import brackets, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.accounts import USERS, AccountKind, account_kind
from ctfd_twisted.scoring.rules import LONG_AGO, Points, added_up, ranked
from ctfd_twisted.scoring.tables import awards, solves, submissions
from ctfd_twisted.scoring.values import frozen_values, recompute_values

__all__ = [
    "Standing",
    "account_score",
    "points_of",
    "recompute_values",
    "standings",
    "team_score",
    "user_score",
]


class Standing(msgspec.Struct, frozen=True):
    """One row of the board; ``place`` counts from 1 and is never shared."""

    place: int
    account_id: int
    name: str
    score: int
    oauth_id: int | None
    bracket_id: int | None
    bracket_name: str | None
    hidden: bool
    banned: bool


def standings(
    conn: Connection,
    competition: Competition,
    *,
    everyone: bool = False,
    people: bool = False,
) -> tuple[Standing, ...]:
    """The board, first place first.

    As the public sees it: without the hidden and the banned, and as it was at the freeze. With *everyone*, as
    administrators see it: nobody is left out and no freeze applies. With *people*, users are ranked though teams play.
    """
    kind = USERS if people else account_kind(teams_mode=competition.teams)
    points = points_of(conn, competition, kind, frozen=not everyone)
    known = accounts_with_points(conn, kind, everyone=everyone)
    return placed(ranked(points), known)


def placed(board: Iterable[Points], known: Mapping[int, Any]) -> tuple[Standing, ...]:
    """The rows of *board*, in whose order the *known* accounts stand; others are left out."""
    listed = [entry for entry in board if entry.account_id in known]
    return tuple(standing_of(place, known[entry.account_id], entry.score) for place, entry in enumerate(listed, 1))


def standing_of(place: int, account: Any, score: int) -> Standing:
    """The row of *account*, one of :func:`accounts_with_points`."""
    return Standing(place, account.id, account.name or "", score, account.oauth_id, account.bracket_id,
                    account.bracket_name, bool(account.hidden), bool(account.banned))  # fmt: skip


def accounts_with_points(
    conn: Connection,
    kind: AccountKind,
    *,
    everyone: bool = False,
    account_ids: Iterable[int] | None = None,
) -> dict[int, Any]:
    """The accounts that can stand on the board, by id: those with a solve or an award."""
    account = kind.table.c
    wanted = (
        select(
            account.id,
            account.name,
            account.oauth_id,
            account.bracket_id,
            account.hidden,
            account.banned,
            brackets.c.name.label("bracket_name"),
        )
        .outerjoin(brackets, brackets.c.id == account.bracket_id)
        .where(or_(account.id.in_(select(kind.of(solves))), account.id.in_(select(kind.of(awards)))))
    )
    if not everyone:
        wanted = wanted.where(kind.listed)
    if account_ids is not None:
        wanted = wanted.where(account.id.in_(tuple(account_ids)))
    return {row.id: row for row in conn.execute(wanted)}


def points_of(
    conn: Connection,
    competition: Competition,
    kind: AccountKind,
    *,
    frozen: bool,
    account_ids: Iterable[int] | None = None,
) -> list[Points]:
    """What each account has from solves and awards, in no order; accounts without a row that is worth something lack.

    *frozen* counts what was there at the freeze alone, at the values of then. *account_ids* ``None`` means all.
    """
    freeze = competition.frozen_at if frozen else None
    values = frozen_values(conn, competition) if freeze is not None else {}
    return points_until(conn, kind, freeze, values, account_ids)


def points_until(
    conn: Connection,
    kind: AccountKind,
    freeze: datetime | None,
    values: Mapping[int, int],
    account_ids: Iterable[int] | None = None,
) -> list[Points]:
    """The same for what was there before *freeze* (``None``: for all there is), with *values* where they differ."""
    some = account_ids is not None
    if values:
        statements = _points(kind, displayed_value(values), before=freeze is not None, some=some)
    else:
        statements = _points_as_stored(kind, before=freeze is not None, some=some)
    facts: dict[str, Any] = {}
    if freeze is not None:
        facts["freeze"] = freeze
    if account_ids is not None:
        facts["accounts"] = tuple(account_ids)
    return added_up(
        Points(row.account_id, int(row.score), row.last or LONG_AGO, row.row_id)
        for statement in statements
        for row in conn.execute(statement, facts)
    )


def _points(
    kind: AccountKind, worth: ColumnElement[int], *, before: bool, some: bool
) -> tuple[Select[Any], Select[Any]]:
    """What accounts have from solves worth *worth* and from awards, *before* ``freeze``, of *some* ``accounts``."""
    from_solves = (
        _sums(kind.of(solves), worth, solves.c.id, submissions.c.date)
        .join(submissions, submissions.c.id == solves.c.id)
        .join(challenges, challenges.c.id == solves.c.challenge_id)
    )
    from_awards = _sums(kind.of(awards), awards.c.value, awards.c.id, awards.c.date)
    if before:
        from_solves = from_solves.where(submissions.c.date < bindparam("freeze"))
        from_awards = from_awards.where(awards.c.date < bindparam("freeze"))
    if some:
        wanted: BindParameter[Any] = bindparam("accounts", expanding=True)
        from_solves = from_solves.where(kind.of(solves).in_(wanted))
        from_awards = from_awards.where(kind.of(awards).in_(wanted))
    return from_solves, from_awards


@cache
def _points_as_stored(kind: AccountKind, *, before: bool, some: bool) -> tuple[Select[Any], Select[Any]]:
    """The same at the stored values. Built once, for boards grow with every solve."""
    return _points(kind, challenges.c.value, before=before, some=some)


def displayed_value(frozen: Mapping[int, int]) -> ColumnElement[int]:
    """SQL for a challenge's value: that of *frozen* where it is there, else the stored one."""
    if not frozen:
        return challenges.c.value
    return case(dict(frozen), value=challenges.c.id, else_=challenges.c.value)


def _sums(account: Any, value: ColumnElement[int], row_id: Any, date: Any) -> Select[Any]:
    return (
        select(
            account.label("account_id"),
            cast(func.sum(value), BigInteger).label("score"),
            func.max(date).label("last"),
            func.max(row_id).label("row_id"),
        )
        .where(value != 0, account.is_not(None))
        .group_by(account)
    )


def user_score(conn: Connection, competition: Competition, user_id: int, *, frozen: bool) -> int:
    """All points of one user; *frozen* as the public knows them, otherwise as they are."""
    return sum(entry.score for entry in points_of(conn, competition, USERS, frozen=frozen, account_ids=(user_id,)))


def team_score(conn: Connection, competition: Competition, team_id: int, *, frozen: bool) -> int:
    """All points of a team's present members, and what the team was given without naming one (a hill held by token)."""
    members = conn.execute(select(users.c.id).where(users.c.team_id == team_id)).scalars().all()
    score = sum(entry.score for entry in points_of(conn, competition, USERS, frozen=frozen, account_ids=members))
    freeze = competition.frozen_at if frozen else None
    given = select(func.coalesce(func.sum(awards.c.value), 0)).where(
        awards.c.team_id == team_id, awards.c.user_id.is_(None)
    )
    return score + int(conn.execute(given if freeze is None else given.where(awards.c.date < freeze)).scalar_one())


def account_score(conn: Connection, competition: Competition, account_id: int, *, frozen: bool) -> int:
    """The score of a team where teams play, else of a user."""
    score = team_score if competition.teams else user_score
    return score(conn, competition, account_id, frozen=frozen)
