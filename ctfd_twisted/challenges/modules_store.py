"""Modules, which groups of challenges are, and the audiences to which each is opened.

Who sees a challenge depends on all of it, so every change but one of a name touches ``challenges``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, Table, delete, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.tables import challenges, module_audience_access, modules
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row, locked
from ctfd_twisted.errors import Invalid, NotFound


class ModuleFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take; both need the name."""

    name: Annotated[str, Meta(max_length=80)]
    description: str | UnsetType | None = UNSET


class ModuleFilter(msgspec.Struct, frozen=True):
    """Which modules are asked for."""

    name: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description"] | UnsetType = UNSET


class Module(msgspec.Struct, frozen=True):
    """One module."""

    id: int
    name: str
    description: str | None


class Placed(msgspec.Struct, frozen=True):
    """A challenge, and the module that it is in."""

    id: int
    name: str | None
    category: str | None
    module_id: int | None


class Opened(msgspec.Struct, frozen=True):
    """That a module is opened to an audience."""

    id: int
    module_id: int
    audience_id: int


def list_modules(conn: Connection, wanted: ModuleFilter) -> list[Module]:
    """All modules that *wanted* describes, by id."""
    return [_module(row) for row in conn.execute(matching(select(modules), modules, wanted).order_by(modules.c.id))]


def read_module(conn: Connection, module_id: int) -> Module:
    """One module. Raises ``NotFound``."""
    return _module(_row(conn, modules, module_id))


def create_module(conn: Connection, fields: ModuleFields) -> Module:
    """Make a module without challenges, opened to nobody."""
    return read_module(conn, insert_row(conn, modules, {"description": None, **given(fields)}))


def update_module(conn: Connection, module_id: int, fields: ModuleFields) -> Module:
    """Change what *fields* names. Raises ``NotFound``."""
    conn.execute(update(modules).where(modules.c.id == module_id).values(**given(fields)))
    return read_module(conn, module_id)


def delete_module(conn: Connection, module_id: int) -> None:
    """Remove a module; its challenges are in none and open to everybody. Raises ``NotFound``."""
    _row(conn, modules, module_id, lock=True)
    conn.execute(update(challenges).where(challenges.c.module_id == module_id).values(module_id=None))
    conn.execute(delete(module_audience_access).where(module_audience_access.c.module_id == module_id))
    conn.execute(delete(modules).where(modules.c.id == module_id))
    touch(conn, "challenges")


def list_challenges(conn: Connection, module_id: int) -> list[Placed]:
    """The challenges in a module, by id. Raises ``NotFound``."""
    _row(conn, modules, module_id)
    mine = select(challenges).where(challenges.c.module_id == module_id)
    return [_placed(row) for row in conn.execute(mine.order_by(challenges.c.id))]


def move_challenge(conn: Connection, module_id: int, challenge_id: int) -> Placed:
    """Put a challenge into a module, out of the one that it was in. Raises ``NotFound`` for either."""
    _row(conn, modules, module_id, lock=True)
    conn.execute(update(challenges).where(challenges.c.id == challenge_id).values(module_id=module_id))
    touch(conn, "challenges")
    return _placed(_row(conn, challenges, challenge_id))


def list_audiences(conn: Connection, module_id: int) -> list[Opened]:
    """To which audiences a module is opened. Raises ``NotFound``."""
    _row(conn, modules, module_id)
    links = select(module_audience_access).where(module_audience_access.c.module_id == module_id)
    rows = conn.execute(links.order_by(module_audience_access.c.id))
    return [Opened(row.id, row.module_id, row.audience_id) for row in rows]


def open_to(conn: Connection, module_id: int, audience_id: int) -> Opened:
    """Open a module to an audience.

    Raises ``NotFound`` for the module; ``Invalid`` for an unknown audience and one that it is opened to already.
    """
    _row(conn, modules, module_id, lock=True)
    link = {"module_id": module_id, "audience_id": audience_id}
    try:
        with conn.begin_nested():
            link_id = insert_row(conn, module_audience_access, link)
    except IntegrityError:
        raise Invalid(audience_id=["There is no such audience, or the module is opened to it already"]) from None
    touch(conn, "challenges")
    return Opened(link_id, module_id, audience_id)


def close_to(conn: Connection, module_id: int, audience_id: int) -> None:
    """Close a module to an audience. Raises ``NotFound`` where it was not opened."""
    links = module_audience_access.c
    link = (links.module_id == module_id) & (links.audience_id == audience_id)
    if not conn.execute(delete(module_audience_access).where(link)).rowcount:
        raise NotFound
    touch(conn, "challenges")


def _row(conn: Connection, table: Table, row_id: int, *, lock: bool = False) -> Row[Any]:
    statement = select(table).where(table.c.id == row_id)
    row = conn.execute(locked(statement, conn) if lock else statement).first()
    if row is None:
        raise NotFound
    return row


def _module(row: Row[Any]) -> Module:
    return Module(row.id, row.name, row.description)


def _placed(row: Row[Any]) -> Placed:
    return Placed(row.id, row.name, row.category, row.module_id)
