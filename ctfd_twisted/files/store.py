"""The rows of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.tables import files, solutions
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Invalid, NotFound


class Found(msgspec.Struct, frozen=True):
    """A file's row as a download needs it; ``challenge_id`` also where it belongs to that challenge's solution."""

    id: int
    type: str
    challenge_id: int | None


def find_file(conn: Connection, location: str) -> Found:
    """The file at exactly *location*; raises ``NotFound``."""
    row = conn.execute(
        select(files.c.id, files.c.type, files.c.challenge_id, solutions.c.challenge_id.label("solved_by"))
        .outerjoin(solutions, solutions.c.id == files.c.solution_id)
        .where(files.c.location == location)
        .order_by(files.c.id)
        .limit(1)
    ).first()
    if row is None:
        raise NotFound
    kind = row.type or "standard"
    return Found(row.id, kind, row.solved_by if kind == "solution" else row.challenge_id)


class FileFilter(msgspec.Struct, frozen=True):
    """Which files are asked for."""

    type: str | UnsetType = UNSET
    location: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["type", "location"] | UnsetType = UNSET


def list_files(conn: Connection, wanted: FileFilter) -> list[dict[str, Any]]:
    """All files that *wanted* describes, by id."""
    return [_readout(row) for row in conn.execute(matching(select(files), files, wanted).order_by(files.c.id))]


def read_file(conn: Connection, file_id: int) -> dict[str, Any]:
    """One file. Raises ``NotFound``."""
    row = conn.execute(select(files).where(files.c.id == file_id)).first()
    if row is None:
        raise NotFound
    return _readout(row)


def delete_file(conn: Connection, file_id: int) -> str | None:
    """Remove a file's row; its location, whose content is to be removed. Raises ``NotFound``."""
    row = conn.execute(delete(files).where(files.c.id == file_id).returning(files.c.location)).first()
    if row is None:
        raise NotFound
    touch(conn, "challenges")
    location: str | None = row.location
    return location


class Owner(msgspec.Struct, frozen=True):
    """Of which kind a file is, and what it belongs to."""

    type: str
    challenge_id: int | None = None
    page_id: int | None = None
    solution_id: int | None = None


class Added(msgspec.Struct, frozen=True):
    """A file that has come: what is shown of it, and whether its location is new."""

    shown: dict[str, Any]
    new: bool


def add_files(conn: Connection, owner: Owner, contents: Sequence[tuple[str, str]]) -> list[Added]:
    """Add a row for each location and SHA-1 (hex) of *contents*; a row that names the location already is changed.

    Raises ``Invalid`` where the owner does not exist.
    """
    try:
        with conn.begin_nested():
            added = [_add_file(conn, {**given(owner), "location": place, "sha1sum": sha1}) for place, sha1 in contents]
    except IntegrityError:
        raise Invalid({owner.type: [f"There is no such {owner.type}"]}) from None
    touch(conn, "challenges")
    return added


def _add_file(conn: Connection, columns: dict[str, Any]) -> Added:
    named = files.c.location == columns["location"]
    changed = conn.execute(update(files).where(named).values(**columns).returning(files)).all()
    if changed:
        return Added(_readout(min(changed, key=lambda row: row.id)), new=False)
    return Added(_readout(conn.execute(insert(files).values(**columns).returning(files)).one()), new=True)


def forget_files(conn: Connection, file_ids: Sequence[int]) -> None:
    """Remove the rows of files whose content could not be kept."""
    conn.execute(delete(files).where(files.c.id.in_(file_ids)))
    touch(conn, "challenges")


class Leftover(msgspec.Struct, frozen=True):
    """Content that no row names any more; ``alone`` says that none names anything else in its directory either."""

    location: str
    alone: bool


def leftovers(conn: Connection, locations: Sequence[str]) -> tuple[Leftover, ...]:
    """Those of *locations* that no row names any more: CTFd may have named one twice, or a new file has come to it."""
    found = []
    for location in locations:
        if conn.execute(select(files.c.id).where(files.c.location == location).limit(1)).first() is None:
            directory = location.partition("/")[0] + "/"
            beside = select(files.c.id).where(files.c.location.startswith(directory, autoescape=True)).limit(1)
            found.append(Leftover(location, conn.execute(beside).first() is None))
    return tuple(found)


def _readout(row: Row[Any]) -> dict[str, Any]:
    return {"id": row.id, "type": row.type, "location": row.location, "sha1sum": row.sha1sum}
