"""Flags as administrators make, change, find and remove them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.parts import flag_readout
from ctfd_twisted.challenges.registry import flag_types
from ctfd_twisted.challenges.tables import flags
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Malformed, NotFound

Text = str | UnsetType | None


class FlagFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take; ``challenge`` is another name of ``challenge_id``."""

    challenge_id: int | UnsetType | None = UNSET
    challenge: int | UnsetType | None = UNSET
    type: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET
    content: Text = UNSET
    data: Text = UNSET

    def columns(self) -> dict[str, Any]:
        """The columns that the body names."""
        named = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
        challenge = named.pop("challenge", UNSET)
        return named if challenge is UNSET else {"challenge_id": challenge, **named}


class FlagFilter(msgspec.Struct, frozen=True):
    """Which flags are asked for."""

    challenge_id: int | UnsetType = UNSET
    type: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["type", "content", "data"] | UnsetType = UNSET


def list_flags(conn: Connection, wanted: FlagFilter) -> list[dict[str, Any]]:
    """All flags that *wanted* describes, by id."""
    statement = select(flags).order_by(flags.c.id)
    for name in ("challenge_id", "type", "content", "data"):
        value = getattr(wanted, name)
        if value is not UNSET:
            statement = statement.where(flags.c[name] == value)
    if isinstance(wanted.field, str) and isinstance(wanted.q, str):
        statement = statement.where(flags.c[wanted.field].like(f"%{wanted.q}%"))
    return [flag_readout(row) for row in conn.execute(statement)]


def read_flag(conn: Connection, flag_id: int) -> dict[str, Any]:
    """One flag. Raises ``NotFound``."""
    return flag_readout(_row(conn, flag_id))


def create_flag(conn: Connection, fields: FlagFields) -> dict[str, Any]:
    """Make a flag; raises ``Malformed`` for an unknown challenge and for content that its type can't have."""
    columns: dict[str, Any] = {**dict.fromkeys(("challenge_id", "type", "content", "data")), **fields.columns()}
    columns["content"] = _clean(columns["type"], columns["content"])
    flag_id = _write(conn, insert(flags).values(**columns).returning(flags.c.id))
    return read_flag(conn, flag_id)


def update_flag(conn: Connection, flag_id: int, fields: FlagFields) -> dict[str, Any]:
    """Change what *fields* names, content as its stored type wants it; raises ``NotFound``, else as ``create_flag``."""
    stored = _row(conn, flag_id)
    columns = fields.columns()
    if "content" in columns:
        columns["content"] = _clean(stored.type, columns["content"])
    if columns:
        _write(conn, update(flags).where(flags.c.id == flag_id).values(**columns).returning(flags.c.id))
    return read_flag(conn, flag_id)


def delete_flag(conn: Connection, flag_id: int) -> None:
    """Remove a flag. Raises ``NotFound``."""
    _row(conn, flag_id)
    conn.execute(delete(flags).where(flags.c.id == flag_id))
    touch(conn, "challenges")


def _row(conn: Connection, flag_id: int) -> Row[Any]:
    row = conn.execute(select(flags).where(flags.c.id == flag_id)).first()
    if row is None:
        raise NotFound
    return row


def _clean(kind: str | None, content: str | None) -> str | None:
    known = flag_types().get(kind or "")
    return content if known is None else known.clean(content)


def _write(conn: Connection, statement: Any) -> int:
    try:
        with conn.begin_nested():
            flag_id: int = conn.execute(statement).scalar_one()
    except IntegrityError:
        raise Malformed("There is no such challenge") from None
    touch(conn, "challenges")
    return flag_id
