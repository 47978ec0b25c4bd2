"""New rows of users and teams, and whom they are told to: what every way of creating an account shares."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.sql.elements import ColumnElement

from ctfd_twisted.accounts.profiles import listed
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.webhooks.store import emit, team_created, user_created

#: The topic of new users and teams. It is not "accounts", after which everybody who is signed in is looked up anew:
#: somebody new is nobody of whom anything is remembered, and in an opening minute they come by hundreds.
NEWCOMERS: Final = "newcomers"
#: Somebody is in a team now who was in none. It is not "accounts" either; of whoever joined ``caller_topic`` tells.
JOINED: Final = "joined"
#: After which commits a list of users or teams may read differently.
LIST_TOPICS: Final = ("accounts", NEWCOMERS, JOINED)
#: What ``str.strip`` takes away; the databases' own ``trim`` knows the space alone.
BLANKS: Final = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())

# The database has no defaults of its own (database.md section 3).
_NEW_ACCOUNT: Final[dict[str, Any]] = {
    "oauth_id": None,
    "email": None,
    "password": None,
    "secret": None,
    "website": None,
    "affiliation": None,
    "country": None,
    "bracket_id": None,
    "hidden": False,
    "banned": False,
}
_NEW_USER: Final[dict[str, Any]] = {
    **_NEW_ACCOUNT,
    "type": "user",
    "verified": False,
    "language": None,
    "change_password": False,
    "team_id": None,
}
_NEW_TEAM: Final[dict[str, Any]] = {**_NEW_ACCOUNT, "captain_id": None}


def insert_user(conn: Connection, now: datetime, **values: object) -> int:
    """Store a new user and return their id; what *values* leaves out has its default."""
    user_id = insert_row(conn, users, {**_NEW_USER, **values, "created": now})
    touch(conn, NEWCOMERS)
    return user_id


def insert_team(conn: Connection, now: datetime, **values: object) -> int:
    """Store a new team and return its id; what *values* leaves out has its default."""
    team_id = insert_row(conn, teams, {**_NEW_TEAM, **values, "created": now})
    touch(conn, NEWCOMERS)
    return team_id


def tell_user_created(conn: Connection, now: datetime, user_id: int) -> None:
    """Emit ``user.created``; call it last, when the user's answers are stored."""
    emit(conn, now, user_created(conn, user_id))


def tell_team_created(conn: Connection, now: datetime, team_id: int) -> None:
    """Emit ``team.created``; call it last, when captain, members and answers are stored."""
    emit(conn, now, team_created(conn, team_id))


def name_taken(conn: Connection, table: Table, name: str, but: int | None = None) -> bool:
    """Return whether an account other than *but* has this name, blanks at the ends not counted.

    Names that differ in blanks only were once a way into other people's accounts (CVE-2020-7245). Call it under
    :func:`ctfd_twisted.accounts.locks.serialise`.
    """
    same = (table.c.name == name) | (func.trim(table.c.name, BLANKS) == name.strip())
    return _exists(conn, table, same, but)


def email_taken(conn: Connection, table: Table, email: str, but: int | None = None) -> bool:
    """Return whether an account other than *but* has this e-mail address, as it is written."""
    return _exists(conn, table, table.c.email == email.strip(), but)


def limit_reached(conn: Connection, table: Table, limit: int) -> bool:
    """Return whether as many accounts as *limit* are there that the public may know of; 0 is no limit."""
    if limit <= 0:
        return False
    return (conn.scalar(select(func.count()).select_from(table).where(listed(table))) or 0) >= limit


def _exists(conn: Connection, table: Table, condition: ColumnElement[bool], but: int | None) -> bool:
    others = () if but is None else (table.c.id != but,)
    return conn.execute(select(table.c.id).where(condition, *others).limit(1)).first() is not None
