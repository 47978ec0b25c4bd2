"""Users and teams, read: one by id, or a page of a list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Select, Table, false, func, select, true
from sqlalchemy.sql.elements import ColumnElement

from ctfd_twisted.accounts.fields import entries_of
from ctfd_twisted.accounts.records import Listing, TeamRecord, UserRecord
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.errors import NotFound

R = TypeVar("R")

#: Rows on one page of users or teams.
PAGE_SIZE = 50
# Ids have 32 bits, so one of ten digits may be too large for PostgreSQL.
_ID_DIGITS = 9

_USER = tuple(column for column in users.c if column.name != "password")
_TEAM = tuple(column for column in teams.c if column.name != "password")


class AccountFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What a list of accounts is asked for; ``None`` does not filter."""

    affiliation: str | None = None
    country: str | None = None
    bracket: str | None = None
    q: str | None = None
    field: str | None = None
    everyone: bool = False
    """Hidden and banned accounts too."""


def show_user(conn: Connection, user_id: int, *, everyone: bool) -> UserRecord:
    """Return one user; raises ``NotFound`` for an unknown one and, unless *everyone*, for a hidden or banned one."""
    # Who may not be seen is not even read, so that "hidden" takes no longer to answer than "unknown".
    found = read_users(conn, select(*_USER).where(users.c.id == user_id, true() if everyone else listed(users)))
    if not found:
        raise NotFound
    return found[0]


def show_team(conn: Connection, team_id: int, *, everyone: bool) -> TeamRecord:
    """Return one team; raises ``NotFound`` for an unknown one and, unless *everyone*, for a hidden or banned one."""
    found = read_teams(conn, select(*_TEAM).where(teams.c.id == team_id, true() if everyone else listed(teams)))
    if not found:
        raise NotFound
    return found[0]


def list_users(conn: Connection, wanted: AccountFilter, number: int) -> Listing[UserRecord]:
    """Return page *number* (from 1) of the users that *wanted* describes, in the order of their ids."""
    return _page(conn, users, select(*_USER), wanted, number, read_users)


def list_teams(conn: Connection, wanted: AccountFilter, number: int) -> Listing[TeamRecord]:
    """Return page *number* (from 1) of the teams that *wanted* describes, in the order of their ids, with members."""
    return _page(conn, teams, select(*_TEAM), wanted, number, read_teams)


def member_ids(conn: Connection, team_id: int) -> tuple[int, ...]:
    """Return the ids of a team's members in ascending order."""
    return tuple(conn.scalars(select(users.c.id).where(users.c.team_id == team_id).order_by(users.c.id)))


def read_users(conn: Connection, statement: Select[Any]) -> tuple[UserRecord, ...]:
    """Return the users that *statement* (over the columns of ``users`` but the password) selects."""
    rows = [dict(row) for row in conn.execute(statement).mappings()]
    answers = entries_of(conn, "user", [row["id"] for row in rows])
    in_teams = [row["team_id"] for row in rows if row["team_id"] is not None]
    listed_teams = set(conn.scalars(select(teams.c.id).where(teams.c.id.in_(in_teams), listed(teams))))
    for row in rows:
        for flag in ("hidden", "banned", "verified", "change_password"):
            row[flag] = _flag(row[flag], unknown=flag == "hidden")
        row["type"] = "admin" if row["type"] == "admin" else "user"
        row["team_listed"] = row["team_id"] in listed_teams
    return tuple(UserRecord(**row, fields=answers.get(row["id"], ())) for row in rows)


def read_teams(conn: Connection, statement: Select[Any]) -> tuple[TeamRecord, ...]:
    """Return the teams that *statement* (over the columns of ``teams`` but the password) selects."""
    rows = [dict(row) for row in conn.execute(statement).mappings()]
    ids = [row["id"] for row in rows]
    answers = entries_of(conn, "team", ids)
    members: dict[int, list[int]] = defaultdict(list)
    public: dict[int, list[int]] = defaultdict(list)
    chosen = select(users.c.team_id, users.c.id, listed(users).label("listed")).where(users.c.team_id.in_(ids))
    for member in conn.execute(chosen.order_by(users.c.id)):
        members[member.team_id].append(member.id)
        if member.listed:
            public[member.team_id].append(member.id)
    for row in rows:
        for flag in ("hidden", "banned"):
            row[flag] = _flag(row[flag], unknown=flag == "hidden")
    return tuple(
        TeamRecord(
            **row,
            fields=answers.get(row["id"], ()),
            members=tuple(members[row["id"]]),
            listed_members=tuple(public[row["id"]]),
        )
        for row in rows
    )


def listed(table: Table) -> ColumnElement[bool]:
    """Return the condition that the public may know of an account; a NULL is no permission (database.md section 2)."""
    return table.c.hidden.is_(False) & table.c.banned.is_(False)


def _flag(value: bool | None, *, unknown: bool) -> bool:  # noqa: FBT001 - a column's value
    return unknown if value is None else bool(value)


def _page(
    conn: Connection,
    table: Table,
    chosen: Select[Any],
    wanted: AccountFilter,
    number: int,
    read: Callable[[Connection, Select[Any]], tuple[R, ...]],
) -> Listing[R]:
    conditions = _conditions(table, wanted)
    total = conn.scalar(select(func.count()).select_from(table).where(*conditions)) or 0
    offset = (number - 1) * PAGE_SIZE
    items = read(conn, chosen.where(*conditions).order_by(table.c.id).limit(PAGE_SIZE).offset(offset))
    return Listing(items, total)


def _conditions(table: Table, wanted: AccountFilter) -> Sequence[ColumnElement[bool]]:
    conditions = [] if wanted.everyone else [listed(table)]
    if wanted.affiliation is not None:
        conditions.append(table.c.affiliation == wanted.affiliation)
    if wanted.country is not None:
        conditions.append(table.c.country == wanted.country)
    if wanted.bracket is not None:
        conditions.append(_in_bracket(table, wanted.bracket))
    if wanted.q and wanted.field == "bracket":
        conditions.append(_in_bracket(table, wanted.q))
    elif wanted.q and wanted.field:
        conditions.append(table.c[wanted.field].like(f"%{wanted.q}%"))
    return conditions


def _in_bracket(table: Table, bracket: str) -> ColumnElement[bool]:
    # CTFd answers 500 here; an id is the sensible reading, and what is no id names no bracket.
    known = bracket.isascii() and bracket.isdigit() and len(bracket) <= _ID_DIGITS
    return table.c.bracket_id == int(bracket) if known else false()
