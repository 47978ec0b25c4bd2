"""Tags as administrators make, change, find and remove them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, select

from ctfd_twisted.challenges.part_store import PartFields, add_part, change_part, read_part, remove_part
from ctfd_twisted.challenges.tables import tags
from ctfd_twisted.db.columns import matching


class TagFields(PartFields, frozen=True):
    """What POST and PATCH take; a challenge may have the same value twice."""

    value: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET


class TagFilter(msgspec.Struct, frozen=True):
    """Which tags are asked for."""

    challenge_id: int | UnsetType = UNSET
    value: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["challenge_id", "value"] | UnsetType = UNSET


class TagShown(TypedDict):
    """A tag; ``challenge`` is another name of ``challenge_id``."""

    id: int
    challenge_id: int | None
    challenge: int | None
    value: str | None


def list_tags(conn: Connection, wanted: TagFilter) -> list[TagShown]:
    """All tags that *wanted* describes, by id."""
    return [_readout(row) for row in conn.execute(matching(select(tags), tags, wanted).order_by(tags.c.id))]


def read_tag(conn: Connection, tag_id: int) -> TagShown:
    """One tag. Raises ``NotFound``."""
    return _readout(read_part(conn, tags, tag_id))


def create_tag(conn: Connection, fields: TagFields) -> TagShown:
    """Make a tag; raises ``Malformed`` for an unknown challenge."""
    return _readout(add_part(conn, tags, {"challenge_id": None, "value": None, **fields.columns()}))


def update_tag(conn: Connection, tag_id: int, fields: TagFields) -> TagShown:
    """Change what *fields* names; raises ``NotFound``, and ``Malformed`` for an unknown challenge."""
    return _readout(change_part(conn, tags, tag_id, fields.columns()))


def delete_tag(conn: Connection, tag_id: int) -> None:
    """Remove a tag. Raises ``NotFound``."""
    remove_part(conn, tags, tag_id)


def _readout(row: Row[Any]) -> TagShown:
    return {"id": row.id, "challenge_id": row.challenge_id, "challenge": row.challenge_id, "value": row.value}
