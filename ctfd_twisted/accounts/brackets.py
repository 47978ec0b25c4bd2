"""Brackets: groups that are ranked apart."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.tables import brackets
from ctfd_twisted.errors import Invalid

#: ``brackets.type``: who may be in a bracket.
Members = Literal["users", "teams"]

SEARCHABLE: Final = ("name", "description", "type")


class Bracket(msgspec.Struct, frozen=True):
    """One bracket."""

    id: int
    name: str | None
    description: str | None
    type: str | None


class BracketFilter(msgspec.Struct, frozen=True):
    """What a list of brackets is asked for; ``field`` is one of :data:`SEARCHABLE`, and ``None`` does not filter."""

    name: str | None = None
    description: str | None = None
    type: str | None = None
    q: str | None = None
    field: str | None = None


def list_brackets(conn: Connection, wanted: BracketFilter) -> tuple[Bracket, ...]:
    """Return the brackets that *wanted* describes, in the order of their ids."""
    statement = select(brackets).order_by(brackets.c.id)
    for key in SEARCHABLE:
        value = getattr(wanted, key)
        if value is not None:
            statement = statement.where(brackets.c[key] == value)
    if wanted.q and wanted.field:
        statement = statement.where(brackets.c[wanted.field].like(f"%{wanted.q}%"))
    return tuple(Bracket(row.id, row.name, row.description, row.type) for row in conn.execute(statement))


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
