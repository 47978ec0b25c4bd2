"""Hints as administrators make, change, find and remove them, and as they are read before somebody is shown one."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, func, select

from ctfd_twisted.challenges.part_store import PartFields, add_part, change_part, read_part, remove_part
from ctfd_twisted.challenges.rules import prerequisites_of
from ctfd_twisted.challenges.tables import hints
from ctfd_twisted.db.columns import matching
from ctfd_twisted.scoring.tables import unlocks

#: What a new hint is where nobody says otherwise.
_NEW: Final = {"title": None, "type": "standard", "challenge_id": None, "content": None, "requirements": None}


class HintFields(PartFields, frozen=True):
    """What POST and PATCH take; ``cost`` is in points, ``requirements`` are ``{"prerequisites": [hint ids]}``."""

    title: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET
    content: str | UnsetType | None = UNSET
    cost: int | UnsetType | None = UNSET
    requirements: dict[str, Any] | UnsetType | None = UNSET

    def columns(self) -> dict[str, Any]:
        """The columns that the body names; a cost of null is none."""
        named = super().columns()
        return {**named, "cost": named["cost"] or 0} if "cost" in named else named


class HintFilter(msgspec.Struct, frozen=True):
    """Which hints are asked for."""

    type: str | UnsetType = UNSET
    challenge_id: int | UnsetType = UNSET
    content: str | UnsetType = UNSET
    cost: int | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["type", "content"] | UnsetType = UNSET


class Hint(msgspec.Struct, frozen=True):
    """One hint as it is stored."""

    id: int
    title: str | None
    type: str
    challenge_id: int | None
    content: str | None
    cost: int
    requirements: dict[str, Any] | None


class Asked(NamedTuple):
    """A hint that somebody asks for, and the ids of the existing hints that must be unlocked before."""

    hint: Hint
    needed: frozenset[int]


def list_hints(conn: Connection, wanted: HintFilter) -> list[Hint]:
    """All hints that *wanted* describes, by id."""
    return [_hint(row) for row in conn.execute(matching(select(hints), hints, wanted).order_by(hints.c.id))]


def ask_for_hint(conn: Connection, hint_id: int) -> Asked:
    """One hint with what it needs. Raises ``NotFound``."""
    hint = _hint(read_part(conn, hints, hint_id))
    named = prerequisites_of(hint.requirements)
    existing = select(hints.c.id).where(hints.c.id.in_(sorted(named)))
    return Asked(hint, frozenset(conn.execute(existing).scalars()) if named else named)


def create_hint(conn: Connection, fields: HintFields) -> Hint:
    """Make a hint; raises ``Malformed`` for an unknown challenge."""
    columns = {**_NEW, "cost": 0, **fields.columns()}
    if conn.dialect.name == "sqlite":
        columns["id"] = _unused_id(conn)
    return _hint(add_part(conn, hints, columns))


def update_hint(conn: Connection, hint_id: int, fields: HintFields) -> Hint:
    """Change what *fields* names; raises ``NotFound``, and ``Malformed`` for an unknown challenge."""
    return _hint(change_part(conn, hints, hint_id, fields.columns()))


def delete_hint(conn: Connection, hint_id: int) -> None:
    """Remove a hint; who unlocked it and the awards that paid for it stay. Raises ``NotFound``."""
    remove_part(conn, hints, hint_id)


def _unused_id(conn: Connection) -> int:
    """An id that no hint has and none had that was unlocked.

    SQLite gives the highest id away again when its row is gone, and then the new hint would be open to everybody who
    had unlocked the old one.
    """
    unlocked = select(func.max(unlocks.c.target)).where(unlocks.c.type == "hints")
    highest = (conn.execute(statement).scalar() or 0 for statement in (select(func.max(hints.c.id)), unlocked))
    return max(highest) + 1


def _hint(row: Row[Any]) -> Hint:
    return Hint(
        row.id, row.title, row.type or "standard", row.challenge_id, row.content, row.cost or 0, row.requirements
    )
