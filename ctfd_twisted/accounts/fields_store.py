"""Custom fields as administrators define, change and remove them."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Row, delete, select, update

from ctfd_twisted.accounts.tables import field_entries, fields
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound

_FLAGS: Final = ("required", "public", "editable")
#: What a new field is where nobody says otherwise; of type ``standard`` it is asked of nobody.
_NEW: Final = {
    "name": None,
    "type": "standard",
    "field_type": None,
    "description": None,
    **dict.fromkeys(_FLAGS, False),
}
#: What CTFd can load and draw; it would fail on every page for anything else.
_CHOICES: Final = {"type": ("user", "team", "standard"), "field_type": ("text", "boolean", None)}


class FieldFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take."""

    name: str | UnsetType | None = UNSET
    type: str | UnsetType = UNSET
    field_type: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    required: bool | UnsetType | None = UNSET
    public: bool | UnsetType | None = UNSET
    editable: bool | UnsetType | None = UNSET

    def columns(self) -> dict[str, Any]:
        """The columns that the body names; raises ``Invalid`` for types that there are not."""
        named = given(self)
        wrong = {name: choices for name, choices in _CHOICES.items() if name in named and named[name] not in choices}
        if wrong:
            raise Invalid({
                name: [f"Must be one of: {', '.join(filter(None, choices))}."] for name, choices in wrong.items()
            })  # fmt: skip
        return {name: bool(value) if name in _FLAGS else value for name, value in named.items()}


class FieldShown(TypedDict):
    """A custom field: what ``type`` (``user``, ``team``; ``standard`` is asked of nobody) of account is asked."""

    id: int
    name: str | None
    type: str | None
    field_type: str | None
    description: str | None
    required: bool
    public: bool
    editable: bool


class FieldFilter(msgspec.Struct, frozen=True):
    """Which fields are asked for."""

    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["description"] | UnsetType = UNSET


def list_fields(conn: Connection, wanted: FieldFilter) -> list[FieldShown]:
    """All fields that *wanted* describes, by id."""
    return [_readout(row) for row in conn.execute(matching(select(fields), fields, wanted).order_by(fields.c.id))]


def read_field(conn: Connection, field_id: int) -> FieldShown:
    """One field. Raises ``NotFound``."""
    row = conn.execute(select(fields).where(fields.c.id == field_id)).first()
    if row is None:
        raise NotFound
    return _readout(row)


def create_field(conn: Connection, body: FieldFields) -> FieldShown:
    """Define a field. Raises ``Invalid``."""
    field_id = insert_row(conn, fields, {**_NEW, **body.columns()})
    touch(conn, "accounts")
    return read_field(conn, field_id)


def update_field(conn: Connection, field_id: int, body: FieldFields) -> FieldShown:
    """Change what *body* names; raises ``NotFound`` and ``Invalid``."""
    columns = body.columns()
    if columns:
        conn.execute(update(fields).where(fields.c.id == field_id).values(**columns))
        touch(conn, "accounts")
    return read_field(conn, field_id)


def delete_field(conn: Connection, field_id: int) -> None:
    """Remove a field with everybody's answers to it. Raises ``NotFound``."""
    # Databases that CTFd began long ago lack the cascade.
    conn.execute(delete(field_entries).where(field_entries.c.field_id == field_id))
    if not conn.execute(delete(fields).where(fields.c.id == field_id)).rowcount:
        raise NotFound
    touch(conn, "accounts")


def _readout(row: Row[Any]) -> FieldShown:
    return {
        "id": row.id,
        "name": row.name,
        "type": row.type,
        "field_type": row.field_type,
        "description": row.description,
        "required": bool(row.required),
        "public": bool(row.public),
        "editable": bool(row.editable),
    }
