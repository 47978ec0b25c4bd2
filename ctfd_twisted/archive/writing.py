"""Writing an archive: first its tables, in one transaction, then the uploads. Both wait for the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import BinaryIO, Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import msgspec
from sqlalchemy import Connection

from ctfd_twisted import __version__
from ctfd_twisted.archive import store
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.rules import MANIFEST, OWN, TAIL, Manifest, encoded_rows, head, table_member, upload_member
from ctfd_twisted.db.migrate import HEAD
from ctfd_twisted.db.tables import alembic_version
from ctfd_twisted.files.content import Content

#: The content at a location, or ``None``; raises ``OSError``.
OpenUpload = Callable[[str], Content | None]

_PIECE: Final = 256 * 1024


class Contents(msgspec.Struct, frozen=True):
    """What the tables of an archive say about the rest of it."""

    made: datetime
    own: dict[str, int]
    foreign: tuple[str, ...]
    locations: tuple[str, ...]


def write_tables(conn: Connection, now: datetime, file: BinaryIO, progress: Progress) -> Contents:
    """Begin an archive in *file* with every table, as they are at one moment. Raises ``Abandoned``.

    It may be called again for the same *file*, in which it then begins anew.
    """
    file.seek(0)
    file.truncate()
    counts = [(source, store.count_rows(conn, source)) for source in store.sources()]
    locations = store.locations(conn)
    progress.begin(sum(count for _, count in counts) + len(locations))
    own: dict[str, int] = {}
    with ZipFile(file, "w", ZIP_STORED) as archive:
        revision = store.revision_rows()
        _write_member(archive, now, table_member(alembic_version.name), len(revision), iter([revision]))
        for source, count in counts:
            added = store.added_rows(conn, source)
            rows = _told(store.pages(conn, source.rows), progress)
            _write_member(archive, now, source.member, count + len(added), _with(rows, added))
            if source.ours:
                own[source.table] = count
    return Contents(now, own, store.foreign_tables(conn), locations)


def add_uploads(file: BinaryIO, contents: Contents, open_upload: OpenUpload, progress: Progress) -> None:
    """Complete the archive in *file* with the uploads, and with what it says about itself. Raises ``Abandoned``.

    What has a row and no content is told there, and is no error: somebody may have deleted it meanwhile.
    """
    missing: list[str] = []
    apart: dict[str, str] = {}
    with ZipFile(file, "a", ZIP_STORED) as archive:
        for number, location in enumerate(contents.locations, 1):
            content = open_upload(location)
            if content is None:
                missing.append(location)
            else:
                member = upload_member(location, number)
                if member.startswith(OWN):
                    apart[member] = location
                with closing(content.file):
                    _copy(archive, contents.made, member, content, progress)
            progress.advance(1)
        manifest = Manifest(
            version=__version__,
            revision=HEAD,
            made=contents.made,
            own=contents.own,
            foreign=contents.foreign,
            missing=tuple(missing),
            apart=apart,
        )
        archive.writestr(_member(contents.made, MANIFEST), msgspec.json.format(msgspec.json.encode(manifest)))
    file.flush()


def _copy(archive: ZipFile, made: datetime, name: str, content: Content, progress: Progress) -> None:
    member = _member(made, name)
    member.file_size = content.version.size
    with archive.open(member, "w") as copy:
        while piece := content.file.read(_PIECE):
            copy.write(piece)
            progress.advance(0)


def _write_member(
    archive: ZipFile, made: datetime, name: str, count: int, pages: Iterator[Sequence[store.Row]]
) -> None:
    """Add a table; one without rows is a file without a byte, as CTFd writes it."""
    # How long it gets is not known before, so there must be room for more than four gibibytes.
    with archive.open(_member(made, name), "w", force_zip64=True) as member:
        if not count:
            return
        between = head(count)
        for page in pages:
            member.write(between)
            member.write(encoded_rows(page))
            between = b","
        member.write(TAIL)


def _member(made: datetime, name: str) -> ZipInfo:
    member = ZipInfo(name, made.timetuple()[:6])
    member.external_attr = 0o600 << 16
    return member


def _with(pages: Iterator[Sequence[store.Row]], added: Sequence[store.Row]) -> Iterator[Sequence[store.Row]]:
    yield from pages
    if added:
        yield added


def _told(pages: Iterator[Sequence[store.Row]], progress: Progress) -> Iterator[Sequence[store.Row]]:
    for page in pages:
        yield page
        progress.advance(len(page))
