"""Flags as administrators make, change, find and remove them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.part_store import PartFields, add_part, change_part, read_part, remove_part
from ctfd_twisted.challenges.parts import FlagShown, flag_readout
from ctfd_twisted.challenges.registry import flag_types
from ctfd_twisted.challenges.tables import flags
from ctfd_twisted.db.columns import matching

Text = str | UnsetType | None


class FlagFields(PartFields, frozen=True):
    """What POST and PATCH take."""

    type: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET
    content: Text = UNSET
    data: Text = UNSET


class FlagFilter(msgspec.Struct, frozen=True):
    """Which flags are asked for."""

    challenge_id: int | UnsetType = UNSET
    type: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["type", "content", "data"] | UnsetType = UNSET


def list_flags(conn: Connection, wanted: FlagFilter) -> list[FlagShown]:
    """All flags that *wanted* describes, by id."""
    return [flag_readout(row) for row in conn.execute(matching(select(flags), flags, wanted).order_by(flags.c.id))]


def read_flag(conn: Connection, flag_id: int) -> FlagShown:
    """One flag. Raises ``NotFound``."""
    return flag_readout(read_part(conn, flags, flag_id))


def create_flag(conn: Connection, fields: FlagFields) -> FlagShown:
    """Make a flag; raises ``Malformed`` for an unknown challenge and for content that its type can't have."""
    columns: dict[str, Any] = {**dict.fromkeys(("challenge_id", "type", "content", "data")), **fields.columns()}
    columns["content"] = _clean(columns["type"], columns["content"])
    return flag_readout(add_part(conn, flags, columns))


def update_flag(conn: Connection, flag_id: int, fields: FlagFields) -> FlagShown:
    """Change what *fields* names, content as its stored type wants it; raises ``NotFound``, else as ``create_flag``."""
    stored = read_part(conn, flags, flag_id)
    columns = fields.columns()
    if "content" in columns:
        columns["content"] = _clean(stored.type, columns["content"])
    return flag_readout(change_part(conn, flags, flag_id, columns))


def delete_flag(conn: Connection, flag_id: int) -> None:
    """Remove a flag. Raises ``NotFound``."""
    remove_part(conn, flags, flag_id)


def _clean(kind: str | None, content: str | None) -> str | None:
    known = flag_types().get(kind or "")
    return content if known is None else known.clean(content)
