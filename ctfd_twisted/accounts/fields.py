"""Custom fields: what accounts are asked beside their name, and what they answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select, update
from sqlalchemy.sql.elements import ColumnElement

from ctfd_twisted.accounts.bodies import FieldValue
from ctfd_twisted.accounts.records import Entry, Owner
from ctfd_twisted.accounts.tables import field_entries, fields
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound


class Field(msgspec.Struct, frozen=True):
    """One question; ``field_type`` is ``text`` or ``boolean``."""

    id: int
    name: str
    field_type: str
    description: str
    required: bool
    public: bool
    editable: bool


def defined_fields(conn: Connection, owner: Owner) -> tuple[Field, ...]:
    """Return the questions put to every user or team, in the order of their ids."""
    found = conn.execute(select(fields).where(fields.c.type == owner).order_by(fields.c.id))
    return tuple(
        Field(
            row.id,
            row.name or "",
            row.field_type or "text",
            row.description or "",
            bool(row.required),
            bool(row.public),
            bool(row.editable),
        )
        for row in found
    )


def entries_of(conn: Connection, owner: Owner, ids: Sequence[int]) -> Mapping[int, tuple[Entry, ...]]:
    """Return the answers of the accounts *ids* by account, in the order of the fields; who has none is absent."""
    column = _column(owner)
    chosen = (field_entries.c.value, fields.c.id, fields.c.name, fields.c.description, fields.c.field_type)
    found = conn.execute(
        select(column.label("owner"), *chosen, fields.c.public, fields.c.editable)
        .join(fields, fields.c.id == field_entries.c.field_id)
        .where(column.in_(ids), fields.c.type == owner)
        .order_by(fields.c.id, field_entries.c.id)
    )
    by_owner: dict[int, dict[int, Entry]] = defaultdict(dict)
    for row in found:
        entry = Entry(
            row.id,
            row.value,
            row.name or "",
            row.description or "",
            row.field_type or "text",
            bool(row.public),
            bool(row.editable),
        )
        by_owner[row.owner].setdefault(row.id, entry)
    return {owner_id: tuple(entries.values()) for owner_id, entries in by_owner.items()}


def store_answers(conn: Connection, owner: Owner, owner_id: int, answers: Iterable[FieldValue]) -> None:
    """Store *answers*, replacing earlier ones to the same fields; answers not mentioned are kept.

    They have been checked by :func:`check_answers` or :func:`check_own_answers` before.
    """
    for answer in answers:
        mine = (field_entries.c.field_id == answer.field_id, _column(owner) == owner_id)
        if not conn.execute(update(field_entries).where(*mine).values(value=answer.value)).rowcount:
            values: dict[str, Any] = {"user_id": None, "team_id": None, f"{owner}_id": owner_id}
            insert_row(
                conn, field_entries, {"type": owner, "value": answer.value, "field_id": answer.field_id, **values}
            )


def check_answers(conn: Connection, owner: Owner, answers: Iterable[FieldValue]) -> None:
    """Raise ``NotFound`` where one of *answers* is to a field that is not asked of this kind of account."""
    if not {answer.field_id for answer in answers} <= {field.id for field in defined_fields(conn, owner)}:
        raise NotFound


def check_own_answers(conn: Connection, owner: Owner, owner_id: int, answers: Sequence[FieldValue]) -> None:
    """Raise ``Invalid`` for the first of *answers* that a player may not give.

    A required field can't be blanked, and a field that is not editable can be answered once. Raises ``NotFound`` for an
    unknown field.
    """
    known = {field.id: field for field in defined_fields(conn, owner)}
    answered = {entry.field_id for entry in entries_of(conn, owner, [owner_id]).get(owner_id, ())}
    for answer in answers:
        field = known.get(answer.field_id)
        if field is None:
            raise NotFound
        if field.required and isinstance(answer.value, str) and not answer.value.strip():
            raise Invalid(fields=[f"Field '{field.name}' is required"])
        if not field.editable and answer.field_id in answered:
            raise Invalid(fields=[f"Field '{field.name}' cannot be editted"])


def _column(owner: Owner) -> ColumnElement[Any]:
    return field_entries.c.user_id if owner == "user" else field_entries.c.team_id
