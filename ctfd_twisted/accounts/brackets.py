"""Brackets: groups that are ranked apart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, select, update

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.tables import brackets, teams, users
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound

#: ``brackets.type``: who may be in a bracket.
Members = Literal["users", "teams"]


class Bracket(msgspec.Struct, frozen=True):
    """One bracket."""

    id: int
    name: str | None
    description: str | None
    type: str | None


class BracketFilter(msgspec.Struct, frozen=True):
    """Which brackets are asked for."""

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description", "type"] | UnsetType = UNSET


class BracketFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take; a ``type`` other than ``users`` and ``teams`` is a bracket that nobody can choose."""

    name: Annotated[str, Meta(max_length=255)] | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    type: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET


def list_brackets(conn: Connection, wanted: BracketFilter) -> tuple[Bracket, ...]:
    """Return the brackets that *wanted* describes, in the order of their ids."""
    rows = conn.execute(matching(select(brackets), brackets, wanted).order_by(brackets.c.id))
    return tuple(map(_bracket, rows))


def create_bracket(conn: Connection, fields: BracketFields) -> Bracket:
    """Make a bracket and return it."""
    bracket_id = insert_row(conn, brackets, {"name": None, "description": None, "type": None, **given(fields)})
    touch(conn, "accounts")
    return _read(conn, bracket_id)


def update_bracket(conn: Connection, bracket_id: int, fields: BracketFields) -> Bracket:
    """Change what *fields* names and return the bracket; raises ``NotFound``."""
    columns = given(fields)
    if columns:
        conn.execute(update(brackets).where(brackets.c.id == bracket_id).values(**columns))
        touch(conn, "accounts")
    return _read(conn, bracket_id)


def delete_bracket(conn: Connection, bracket_id: int) -> None:
    """Remove a bracket; who was in it is in none. Raises ``NotFound``."""
    # Databases that CTFd began long ago lack the rule.
    for table in (users, teams):
        conn.execute(update(table).where(table.c.bracket_id == bracket_id).values(bracket_id=None))
    if not conn.execute(delete(brackets).where(brackets.c.id == bracket_id)).rowcount:
        raise NotFound
    touch(conn, "accounts")


def check_bracket(conn: Connection, bracket_id: int | None, of: Members | None) -> None:
    """Raise ``Invalid`` unless *bracket_id* is a bracket *of* those members (``None``: of any); no bracket is fine."""
    if bracket_id is None:
        return
    found = conn.execute(select(brackets.c.type).where(brackets.c.id == bracket_id)).first()
    if found is None or of not in {None, found.type}:
        raise Invalid(bracket_id=[rules.BAD_BRACKET])


def check_own_bracket(conn: Connection, bracket_id: int | None, present: int | None, of: Members) -> None:
    """Raise ``Invalid`` where a player may not move from the bracket *present* to *bracket_id*."""
    if bracket_id == present:
        return
    if present is not None:
        raise Invalid(bracket_id=[rules.BRACKET_SET])
    check_bracket(conn, bracket_id, of)


def _read(conn: Connection, bracket_id: int) -> Bracket:
    row = conn.execute(select(brackets).where(brackets.c.id == bracket_id)).first()
    if row is None:
        raise NotFound
    return _bracket(row)


def _bracket(row: Row[Any]) -> Bracket:
    return Bracket(row.id, row.name, row.description, row.type)
