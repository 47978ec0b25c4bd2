"""Transactions that read reigns, and what they add up to.

As in ``boards.py``, *public* leaves out hidden and banned accounts, and *until* every tick that was due at that instant
or later (a freeze).
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import Connection, Subquery, case, func, select

from ctfd_twisted.koth.boards import KingOfHill, due_before, king_of, listed, scorers
from ctfd_twisted.koth.rules import FOUND
from ctfd_twisted.koth.tables import ticks


class Standing(msgspec.Struct, frozen=True):
    """What one account has got out of a hill; ``longest_reign`` is in ticks."""

    account: KingOfHill
    points: int
    ticks: int
    longest_reign: int


class PastReign(msgspec.Struct, frozen=True):
    """An unbroken run of ticks with one king: the moments of its first and last tick, and how many found the king."""

    account: KingOfHill | None
    begun: datetime
    last: datetime
    ticks: int
    points: int


def read_standings(
    conn: Connection, challenge_id: int, *, teams_mode: bool, public: bool, until: datetime | None
) -> tuple[Standing, ...]:
    """The accounts that were king of a hill: most points first, then most ticks, then the one that came first."""
    accounts, kind, _ = scorers(ticks, teams_mode=teams_mode)
    runs = _runs(challenge_id, until, teams_mode=teams_mode)
    points, length = func.sum(runs.c.points), func.sum(runs.c.ticks)
    query = (
        select(
            accounts.c.id,
            accounts.c.name,
            points.label("points"),
            length.label("ticks"),
            func.max(runs.c.ticks).label("longest"),
        )
        .join(accounts, accounts.c.id == runs.c.account_id)
        .group_by(accounts.c.id, accounts.c.name)
        .order_by(points.desc(), length.desc(), func.min(runs.c.reign))
    )
    found = conn.execute(query.where(listed(accounts)) if public else query)
    return tuple(
        Standing(KingOfHill(row.id, row.name or "", kind), int(row.points), int(row.ticks), int(row.longest))
        for row in found
    )


def read_reigns(
    conn: Connection,
    challenge_id: int,
    *,
    teams_mode: bool,
    public: bool,
    until: datetime | None,
    limit: int,
    offset: int,
) -> tuple[tuple[PastReign, ...], int]:
    """Reigns of a hill, newest first, and how many there are in all."""
    accounts, kind, _ = scorers(ticks, teams_mode=teams_mode)
    runs = _runs(challenge_id, until, teams_mode=teams_mode)
    query = select(runs, accounts.c.name).outerjoin(accounts, accounts.c.id == runs.c.account_id)
    if public:
        query = query.where(listed(accounts))
    total = conn.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    found = conn.execute(query.order_by(runs.c.reign.desc()).limit(limit).offset(offset))
    return tuple(
        PastReign(king_of(row.account_id, row.name, kind), row.begun, row.last, row.ticks, int(row.points))
        for row in found
    ), int(total)


def _runs(challenge_id: int, until: datetime | None, *, teams_mode: bool) -> Subquery:
    """One row for each reign: its number, account, first and last moment, ticks and points."""
    owner = ticks.c.team_id if teams_mode else ticks.c.user_id
    given = case((ticks.c.award_id.is_not(None), ticks.c.points), else_=0)
    return (
        select(
            ticks.c.reign,
            func.max(owner).label("account_id"),
            func.min(ticks.c.due).label("begun"),
            func.max(ticks.c.due).label("last"),
            func.count().label("ticks"),
            func.sum(given).label("points"),
        )
        .where(ticks.c.challenge_id == challenge_id, ticks.c.outcome.in_(FOUND), *due_before(until))
        .group_by(ticks.c.reign)
        .subquery()
    )
