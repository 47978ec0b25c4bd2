"""The rows of files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Column, ColumnElement, Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.tables import challenges, files, solutions
from ctfd_twisted.content.tables import pages
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.files.loose import loosen, settle


class FileShown(TypedDict):
    """A stored file; ``location`` is where it is below ``/files/``, ``sha1sum`` is in hex."""

    id: int
    type: str | None
    location: str | None
    sha1sum: str | None


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


def list_files(conn: Connection, wanted: FileFilter) -> list[FileShown]:
    """All files that *wanted* describes, by id."""
    return [file_readout(row) for row in conn.execute(matching(select(files), files, wanted).order_by(files.c.id))]


def read_file(conn: Connection, file_id: int) -> FileShown:
    """One file. Raises ``NotFound``."""
    row = conn.execute(select(files).where(files.c.id == file_id)).first()
    if row is None:
        raise NotFound
    return file_readout(row)


def take_files(conn: Connection, which: ColumnElement[bool]) -> tuple[str, ...]:
    """Remove the rows of *which* files; their locations, whose content is to be removed after the commit.

    It is also written down, for whoever may have to do it later.
    """
    taken = conn.execute(delete(files).where(which).returning(files.c.location)).scalars().all()
    locations = tuple(location for location in taken if location)
    loosen(conn, locations)
    return locations


def delete_file(conn: Connection, file_id: int) -> tuple[str, ...]:
    """Remove a file's row, as ``take_files`` does. Raises ``NotFound``."""
    if conn.execute(select(files.c.id).where(files.c.id == file_id)).first() is None:
        raise NotFound
    touch(conn, "challenges")
    return take_files(conn, files.c.id == file_id)


class Owner(msgspec.Struct, frozen=True):
    """Of which kind a file is, and what it belongs to."""

    type: str
    challenge_id: int | None = None
    page_id: int | None = None
    solution_id: int | None = None


_OWNERS: Final[dict[str, Column[Any]]] = {
    "challenge_id": challenges.c.id,
    "page_id": pages.c.id,
    "solution_id": solutions.c.id,
}


def expect_files(conn: Connection, now: datetime, owner: Owner, locations: Sequence[str]) -> None:
    """Write down that content comes to *locations*; raises ``Invalid`` where the owner does not exist."""
    for name, column in _OWNERS.items():
        number = getattr(owner, name)
        if number is not None and conn.execute(select(column).where(column == number)).first() is None:
            raise _no_such(owner)
    loosen(conn, locations, now)


def add_files(conn: Connection, owner: Owner, contents: Sequence[tuple[str, str]]) -> list[FileShown]:
    """Add a row for each location and SHA-1 (hex) of *contents*; a row that names the location already is changed.

    Raises ``Invalid`` where the owner does not exist.
    """
    try:
        with conn.begin_nested():
            added = [_add_file(conn, {**given(owner), "location": place, "sha1sum": sha1}) for place, sha1 in contents]
    except IntegrityError:
        raise _no_such(owner) from None
    touch(conn, "challenges")
    return added


def _add_file(conn: Connection, columns: dict[str, Any]) -> FileShown:
    named = files.c.location == columns["location"]
    changed = conn.execute(update(files).where(named).values(**columns).returning(files)).all()
    if changed:
        return file_readout(min(changed, key=lambda row: row.id))
    return file_readout(conn.execute(insert(files).values(**columns).returning(files)).one())


def _no_such(owner: Owner) -> Invalid:
    return Invalid({owner.type: [f"There is no such {owner.type}"]})


def keep_files(
    conn: Connection, owner: Owner, contents: Sequence[tuple[str, str]], expected: Sequence[str]
) -> list[FileShown]:
    """``add_files`` for content that has come; nothing more is *expected* at those locations."""
    added = add_files(conn, owner, contents)
    settle(conn, expected)
    return added


def file_readout(row: Row[Any]) -> FileShown:
    """One file as every endpoint shows it."""
    return {"id": row.id, "type": row.type, "location": row.location, "sha1sum": row.sha1sum}
