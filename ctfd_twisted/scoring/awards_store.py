"""Awards as administrators give, find and take them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, Malformed, NotFound
from ctfd_twisted.http.dates import iso
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.tables import awards

Name = Annotated[str, Meta(max_length=80)]


class AwardFields(msgspec.Struct, frozen=True):
    """What POST takes; ``value`` may be negative."""

    user_id: int | None = None
    team_id: int | None = None
    name: Name | None = None
    description: str | None = None
    value: int | None = None
    category: Name | None = None
    icon: str | None = None
    requirements: dict[str, Any] | None = None


class AwardFilter(msgspec.Struct, frozen=True):
    """Which awards are asked for; two columns of text are filtered as numbers, as CTFd's clients know it."""

    user_id: int | UnsetType = UNSET
    team_id: int | UnsetType = UNSET
    value: int | UnsetType = UNSET
    type: str | UnsetType = UNSET
    category: int | UnsetType = UNSET
    icon: int | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description", "category", "icon"] | UnsetType = UNSET


class AwardShown(TypedDict):
    """An award as administrators read it; ``user`` and ``team`` repeat the ids, ``date`` has an offset."""

    id: int
    user_id: int | None
    user: int | None
    team_id: int | None
    team: int | None
    type: str | None
    name: str | None
    description: str | None
    date: str | None
    value: int | None
    category: str | None
    icon: str | None
    requirements: dict[str, Any] | None


def list_awards(conn: Connection, wanted: AwardFilter) -> list[AwardShown]:
    """All awards that *wanted* describes, by id."""
    statement = select(awards).order_by(awards.c.id)
    for name in ("user_id", "team_id", "value", "type", "category", "icon"):
        value = getattr(wanted, name)
        if value is not UNSET:
            as_stored = str(value) if name in {"category", "icon"} else value
            statement = statement.where(awards.c[name] == as_stored)
    if isinstance(wanted.field, str) and isinstance(wanted.q, str):
        statement = statement.where(awards.c[wanted.field].like(f"%{wanted.q}%"))
    return [award_readout(row) for row in conn.execute(statement)]


def read_award(conn: Connection, award_id: int) -> AwardShown:
    """One award. Raises ``NotFound``."""
    return award_readout(_row(conn, award_id))


def create_award(conn: Connection, now: datetime, fields: AwardFields) -> AwardShown:
    """Give an award. Where teams play and no team is named it goes to the user's team.

    Raises ``NotFound`` for an unknown user, ``Invalid`` for one without a team, ``Malformed`` where nobody is named
    whose team it could be and for references to what does not exist.
    """
    team_id = fields.team_id
    if team_id is None and read_competition(conn).teams:
        team_id = _team_of(conn, fields.user_id)
    row = {
        **{name: getattr(fields, name) for name in fields.__struct_fields__},
        "team_id": team_id,
        "type": "standard",
        "date": now,
    }
    try:
        with conn.begin_nested():
            award_id = insert_row(conn, awards, row)
    except IntegrityError:
        raise Malformed("There is no such user or team") from None
    tell_points(conn, fields.user_id, team_id)
    _tell_owner(conn, fields.user_id, team_id)
    return read_award(conn, award_id)


def delete_award(conn: Connection, award_id: int) -> None:
    """Take an award back. Raises ``NotFound``."""
    award = _row(conn, award_id)
    conn.execute(delete(awards).where(awards.c.id == award_id))
    touch(conn, "standings")
    _tell_owner(conn, award.user_id, award.team_id)


def award_readout(row: Row[Any]) -> AwardShown:
    """One award as administrators read it."""
    return {
        "id": row.id,
        "user_id": row.user_id,
        "user": row.user_id,
        "team_id": row.team_id,
        "team": row.team_id,
        "type": row.type,
        "name": row.name,
        "description": row.description,
        "date": iso(row.date),
        "value": row.value,
        "category": row.category,
        "icon": row.icon,
        "requirements": row.requirements,
    }


def _row(conn: Connection, award_id: int) -> Row[Any]:
    row = conn.execute(select(awards).where(awards.c.id == award_id)).first()
    if row is None:
        raise NotFound
    return row


def _team_of(conn: Connection, user_id: int | None) -> int:
    if user_id is None:
        raise Malformed("An award needs a user_id or a team_id")
    user = conn.execute(select(users.c.team_id).where(users.c.id == user_id)).first()
    if user is None:
        raise NotFound
    if user.team_id is None:
        raise Invalid(team_id=["User doesn't have a team to associate award with"])
    return int(user.team_id)


def _tell_owner(conn: Connection, user_id: int | None, team_id: int | None) -> None:
    named = (("user", user_id), ("team", team_id))
    touch(conn, *(f"{word}:{number}" for word, number in named if number is not None))
