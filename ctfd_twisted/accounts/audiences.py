"""Audiences: groups of accounts to which modules of challenges are opened.

What is opened to whom is part of the catalogue of challenges, so every change here touches ``challenges``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, Table, delete, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import audience_members, audiences
from ctfd_twisted.challenges.tables import module_audience_access
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row, locked
from ctfd_twisted.errors import Invalid, NotFound

#: The one type that there is. CTFd stores others, and fails to list them from then on.
STANDARD: Final = "standard"

#: What hangs on an audience.
_OF_AN_AUDIENCE: Final[tuple[Table, ...]] = (audience_members, module_audience_access)


class AudienceFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take; both need the name."""

    name: Annotated[str, Meta(max_length=80)]
    description: str | UnsetType | None = UNSET
    type: str | UnsetType | None = UNSET


class AudienceFilter(msgspec.Struct, frozen=True):
    """Which audiences are asked for."""

    name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description"] | UnsetType = UNSET


class AudienceMemberFields(msgspec.Struct, frozen=True):
    """What POST of a member takes: a user, who counts in users mode, or a team, which counts in teams mode."""

    user_id: int | UnsetType | None = UNSET
    team_id: int | UnsetType | None = UNSET


class Audience(msgspec.Struct, frozen=True):
    """One audience."""

    id: int
    name: str
    description: str | None
    type: str


class AudienceMember(msgspec.Struct, frozen=True):
    """One membership: a user's, or a team's."""

    id: int
    audience_id: int
    user_id: int | None
    team_id: int | None


def list_audiences(conn: Connection, wanted: AudienceFilter) -> list[Audience]:
    """All audiences that *wanted* describes, by id."""
    rows = conn.execute(matching(select(audiences), audiences, wanted).order_by(audiences.c.id))
    return [_audience(row) for row in rows]


def read_audience(conn: Connection, audience_id: int) -> Audience:
    """One audience. Raises ``NotFound``."""
    return _audience(_row(conn, audience_id))


def create_audience(conn: Connection, fields: AudienceFields) -> Audience:
    """Make an audience without members; raises ``Invalid`` for a type that there is not."""
    columns = {"description": None, **_columns(fields), "type": STANDARD}
    return read_audience(conn, insert_row(conn, audiences, columns))


def update_audience(conn: Connection, audience_id: int, fields: AudienceFields) -> Audience:
    """Change what *fields* names; raises ``NotFound``, and ``Invalid`` for a type that there is not."""
    conn.execute(update(audiences).where(audiences.c.id == audience_id).values(**_columns(fields)))
    return read_audience(conn, audience_id)


def delete_audience(conn: Connection, audience_id: int) -> None:
    """Remove an audience: what was opened to it alone is closed. Raises ``NotFound``."""
    _row(conn, audience_id, lock=True)
    for table in _OF_AN_AUDIENCE:
        conn.execute(delete(table).where(table.c.audience_id == audience_id))
    conn.execute(delete(audiences).where(audiences.c.id == audience_id))
    touch(conn, "challenges")


def list_members(conn: Connection, audience_id: int) -> list[AudienceMember]:
    """The members of an audience, by the ids of their memberships. Raises ``NotFound``."""
    _row(conn, audience_id)
    mine = select(audience_members).where(audience_members.c.audience_id == audience_id)
    return [_member(row) for row in conn.execute(mine.order_by(audience_members.c.id))]


def add_member(conn: Connection, audience_id: int, fields: AudienceMemberFields) -> AudienceMember:
    """Add a user or a team to an audience.

    Raises ``NotFound`` for the audience; ``Invalid`` where neither is named, for an account that does not exist and for
    one that is in the audience already.
    """
    _row(conn, audience_id, lock=True)
    account = {"user_id": None, "team_id": None, **given(fields)}
    if not any(account.values()):
        raise Invalid({"": ["Either user_id or team_id is required"]})
    try:
        with conn.begin_nested():
            member_id = insert_row(conn, audience_members, {"audience_id": audience_id, **account})
    except IntegrityError:
        raise Invalid({"": ["There is no such account, or it is in this audience already"]}) from None
    touch(conn, "challenges")
    return AudienceMember(member_id, audience_id, **account)


def remove_member(conn: Connection, audience_id: int, member_id: int) -> None:
    """Remove a membership by its id. Raises ``NotFound``, also where it is one of another audience."""
    mine = (audience_members.c.id == member_id) & (audience_members.c.audience_id == audience_id)
    if not conn.execute(delete(audience_members).where(mine)).rowcount:
        raise NotFound
    touch(conn, "challenges")


def _columns(fields: AudienceFields) -> dict[str, Any]:
    if fields.type not in {UNSET, None, STANDARD}:
        raise Invalid(type=[f"Must be {STANDARD}."])
    columns = given(fields)
    columns.pop("type", None)
    return columns


def _row(conn: Connection, audience_id: int, *, lock: bool = False) -> Row[Any]:
    statement = select(audiences).where(audiences.c.id == audience_id)
    row = conn.execute(locked(statement, conn) if lock else statement).first()
    if row is None:
        raise NotFound
    return row


def _audience(row: Row[Any]) -> Audience:
    return Audience(row.id, row.name, row.description, row.type)


def _member(row: Row[Any]) -> AudienceMember:
    return AudienceMember(row.id, row.audience_id, row.user_id, row.team_id)
