"""Transactions that read hills and their ticks for those who look at them.

Nothing is hidden here but what is asked to be: what a caller may see is decided by the shell.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypedDict

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Table, and_, false, func, or_, select, true

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.koth.rules import FAILURES_TO_TELL, Account
from ctfd_twisted.koth.tables import hills, ticks


class KingOfHill(msgspec.Struct, frozen=True):
    """An account that holds or held a hill; ``type`` is ``user`` or ``team``."""

    id: int
    name: str
    type: str


class Hill(msgspec.Struct, frozen=True):
    """A hill as it stands: what lists and details show of it, before anything is hidden from anybody.

    ``listed`` says whether the king is neither hidden nor banned. ``running`` is false while no ticks are due.
    """

    challenge_id: int
    name: str
    category: str
    connection_info: str | None
    reward: int
    interval: int
    king: KingOfHill | None
    listed: bool
    since: datetime | None
    reign_ticks: int
    last_outcome: str | None
    first_tick: datetime | None
    running: bool
    failures: int
    reset_problem: str | None


class AnswerKept(TypedDict):
    """The evidence of one request: the first bytes of what was answered, undecodable ones escaped."""

    step: str
    status: int | None
    latency_ms: int
    body: str


class Tick(msgspec.Struct, frozen=True):
    """One recorded tick; ``listed`` says whether the account is neither hidden nor banned."""

    tick: int
    due: datetime
    started: datetime | None
    latency_ms: int | None
    status: int | None
    outcome: str
    identifier: str | None
    account: KingOfHill | None
    points: int
    award_id: int | None
    signed: bool | None
    detail: str | None
    answers: tuple[AnswerKept, ...]
    void_id: int | None
    voided: str | None
    listed: bool = True


class Sight(msgspec.Struct, frozen=True):
    """Which ticks somebody may see: those of *own* account always, those of *others* if so, before *until*."""

    everything: bool = False
    own: int | None = None
    others: bool = False
    until: datetime | None = None


EVERYTHING: Final = Sight(everything=True)


def read_hills(conn: Connection, *, teams_mode: bool, only: int | None = None) -> tuple[Hill, ...]:
    """Every hill, or the *only* one of this challenge, in the order of the challenges' ids."""
    accounts, kind, king = scorers(hills, teams_mode=teams_mode)
    query = (
        select(
            hills,
            challenges.c.name,
            challenges.c.category,
            challenges.c.connection_info,
            accounts.c.id.label("king_id"),
            accounts.c.name.label("king_name"),
            listed(accounts).label("listed"),
        )
        .join(challenges, challenges.c.id == hills.c.challenge_id)
        .outerjoin(accounts, accounts.c.id == king)
        .where(challenges.c.type == "koth")
        .order_by(hills.c.challenge_id)
    )
    found = conn.execute(query if only is None else query.where(hills.c.challenge_id == only))
    return tuple(
        Hill(
            challenge_id=row.challenge_id,
            name=row.name or "",
            category=row.category or "",
            connection_info=row.connection_info,
            reward=row.reward,
            interval=row.interval,
            king=king_of(row.king_id, row.king_name, kind),
            listed=bool(row.listed),
            since=row.king_since,
            reign_ticks=row.reign_ticks,
            last_outcome=row.last_outcome,
            first_tick=row.first_tick,
            running=row.running,
            failures=row.failures,
            reset_problem=row.reset_problem,
        )
        for row in found
    )


def failing_hills(conn: Connection) -> tuple[tuple[int, str, int, str], ...]:
    """Hills whose polls have failed 20 times in a row or more: challenge id, name, failures, the last outcome."""
    found = conn.execute(
        select(hills.c.challenge_id, challenges.c.name, hills.c.failures, hills.c.last_outcome)
        .join(challenges, challenges.c.id == hills.c.challenge_id)
        .where(hills.c.failures >= FAILURES_TO_TELL)
        .order_by(hills.c.failures.desc(), hills.c.challenge_id)
    )
    return tuple((row.challenge_id, row.name or "", row.failures, row.last_outcome or "") for row in found)


def read_ticks(
    conn: Connection,
    challenge_id: int,
    *,
    teams_mode: bool,
    sight: Sight = EVERYTHING,
    outcome: str | None = None,
    limit: int,
    offset: int,
) -> tuple[tuple[Tick, ...], int]:
    """Recorded ticks of a hill that lie in *sight*, newest first, and how many there are in all."""
    accounts, kind, owner = scorers(ticks, teams_mode=teams_mode)
    wanted = [ticks.c.challenge_id == challenge_id]
    if outcome is not None:
        wanted.append(ticks.c.outcome == outcome)
    if not sight.everything:
        # An account that is not there owns no ticks: NULL in the column is nobody's, not everybody's.
        own = false() if sight.own is None else owner == sight.own
        wanted.append(or_(own, and_(true(), *due_before(sight.until)) if sight.others else false()))
    total = conn.execute(select(func.count()).select_from(ticks).where(*wanted)).scalar_one()
    found = conn.execute(
        select(ticks, accounts.c.id.label("account_id"), accounts.c.name, listed(accounts).label("listed"))
        .outerjoin(accounts, accounts.c.id == owner)
        .where(*wanted)
        .order_by(ticks.c.tick.desc())
        .limit(limit)
        .offset(offset)
    )
    return tuple(_tick(row, kind) for row in found), int(total)


def name_account(conn: Connection, account: Account, *, teams_mode: bool) -> KingOfHill | None:
    """The name of who scores for *account*; None where nobody does, as for who has no team."""
    accounts, kind, _ = scorers(ticks, teams_mode=teams_mode)
    account_id = account.team_id if teams_mode else account.user_id
    name = conn.execute(select(accounts.c.name).where(accounts.c.id == account_id)).scalar()
    return king_of(account_id, name, kind)


def scorers(table: Table, *, teams_mode: bool) -> tuple[Table, str, ColumnElement[Any]]:
    """The table of those who score, what one of them is called, and the column of *table* that refers to it.

    That column is the king's in ``ctfp_hills`` and the found account's in ``ctfp_ticks``.
    """
    prefix = "king_" if table is hills else ""
    return (teams, "team", table.c[f"{prefix}team_id"]) if teams_mode else (users, "user", table.c[f"{prefix}user_id"])


def listed(accounts: Table) -> ColumnElement[bool]:
    """That an account is neither hidden nor banned."""
    return and_(accounts.c.hidden.is_(False), accounts.c.banned.is_(False))


def due_before(until: datetime | None) -> tuple[ColumnElement[bool], ...]:
    """That a tick was due before *until*; no condition without one."""
    return () if until is None else (ticks.c.due < until,)


def king_of(account_id: int | None, name: str | None, kind: str) -> KingOfHill | None:
    """The account of a joined row, if there is one."""
    return None if account_id is None else KingOfHill(account_id, name or "", kind)


def _tick(row: Row[Any], kind: str) -> Tick:
    return Tick(
        tick=row.tick,
        due=row.due,
        started=row.started,
        latency_ms=row.latency_ms,
        status=row.status,
        outcome=row.outcome,
        identifier=row.identifier,
        account=king_of(row.account_id, row.name, kind),
        points=row.points if row.award_id is not None else 0,
        award_id=row.award_id,
        signed=row.signed,
        detail=row.detail,
        answers=tuple(row.answers or ()),
        void_id=row.void_id,
        voided=row.voided,
        listed=bool(row.listed),
    )
