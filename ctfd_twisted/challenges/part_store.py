"""What the parts of a challenge have in common where administrators make, change and remove them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Row, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.db.columns import given
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Malformed, NotFound


class PartFields(msgspec.Struct, frozen=True):
    """What POST and PATCH of every part take; ``challenge`` is another name of ``challenge_id``."""

    challenge_id: int | UnsetType | None = UNSET
    challenge: int | UnsetType | None = UNSET

    def columns(self) -> dict[str, Any]:
        """The columns that the body names."""
        named = given(self)
        challenge = named.pop("challenge", UNSET)
        return named if challenge is UNSET else {"challenge_id": challenge, **named}


def read_part(conn: Connection, table: Table, part_id: int) -> Row[Any]:
    """One part. Raises ``NotFound``."""
    row = conn.execute(select(table).where(table.c.id == part_id)).first()
    if row is None:
        raise NotFound
    return row


def add_part(conn: Connection, table: Table, columns: Mapping[str, Any]) -> Row[Any]:
    """Add a part and return it; raises ``Malformed`` for an unknown challenge."""
    return read_part(conn, table, _write(conn, insert(table).values(**columns).returning(table.c.id)))


def change_part(conn: Connection, table: Table, part_id: int, columns: Mapping[str, Any]) -> Row[Any]:
    """Change *columns* of a part and return it; raises ``NotFound``, and ``Malformed`` for an unknown challenge."""
    if columns:
        read_part(conn, table, part_id)
        _write(conn, update(table).where(table.c.id == part_id).values(**columns).returning(table.c.id))
    return read_part(conn, table, part_id)


def remove_part(conn: Connection, table: Table, part_id: int) -> None:
    """Remove a part. Raises ``NotFound``."""
    if not conn.execute(delete(table).where(table.c.id == part_id)).rowcount:
        raise NotFound
    touch(conn, "challenges")


def _write(conn: Connection, statement: Any) -> int:
    try:
        with conn.begin_nested():
            part_id: int = conn.execute(statement).scalar_one()
    except IntegrityError:
        raise Malformed("There is no such challenge") from None
    touch(conn, "challenges")
    return part_id
