"""Reading archives of others, who may mean harm: a zip file's members, and the rows of its tables one after another."""

from __future__ import annotations

import io
import json
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Final, NoReturn
from zipfile import BadZipFile, ZipFile, ZipInfo

import msgspec

from ctfd_twisted.archive.rules import MANIFEST, OWN, Manifest
from ctfd_twisted.errors import DomainError

#: So many members are looked at, and so many bytes may they hold together.
MEMBERS: Final = 250_000
BYTES: Final = 64 << 30
#: Characters of one row.
_LONGEST: Final = 16 << 20
_PIECE: Final = 256 * 1024
_MALICIOUS: Final = ("..", "//", "\\\\")
#: How every table with rows begins, as CTFd and we write it; older ones have blanks.
_HEAD: Final = re.compile(r'\s*\{\s*"count"\s*:\s*\d+\s*,\s*"results"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_TABLE: Final = re.compile(r"db/([^/]+)\.json")

Row = dict[str, Any]
#: Is told how many bytes have been read.
Advance = Callable[[int], None]


class CannotImport(DomainError):
    """An archive can't be imported; the text says why, in one line. Nothing has changed."""


class Archive:
    """An archive in *file*, whose members have been looked at. Raises ``CannotImport`` with CTFd's texts."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._zip = ZipFile(file)
        except (BadZipFile, OSError, ValueError, NotImplementedError):
            raise CannotImport("zipfile is invalid") from None
        self._members = self._checked()
        self.tables = {found[1]: member for member in self._members if (found := _TABLE.fullmatch(member))}
        if not self.tables:
            raise CannotImport("db folder is missing")
        self.manifest = self._read_manifest()

    def _checked(self) -> dict[str, ZipInfo]:
        infos = self._zip.infolist()
        names = [info.filename for info in infos]
        links = any(stat.S_ISLNK(info.external_attr >> 16) for info in infos)
        # A name that stands there twice says one thing to those who check and another to those who read.
        if links or len(set(names)) < len(names) or any(map(_is_malicious, names)):
            raise CannotImport("zipfile is malicious")
        # A member never gives more than its header says: zipfile stops there, and finds the sum of its bytes wrong.
        if len(infos) > MEMBERS or sum(info.file_size for info in infos) > BYTES:
            raise CannotImport("zipfile is too large")
        return {info.filename: info for info in infos if not info.is_dir()}

    def _read_manifest(self) -> Manifest | None:
        if MANIFEST not in self._members:
            return None
        try:
            return msgspec.json.decode(self._whole(MANIFEST), type=Manifest)
        except msgspec.DecodeError as error:
            raise CannotImport(f"{MANIFEST} can't be read: {error}") from None

    @property
    def size(self) -> int:
        """Bytes in all members together."""
        return sum(info.file_size for info in self._members.values())

    def revision(self) -> str:
        """CTFd's revision, of which the tables are."""
        try:
            (row,) = self.rows(self.tables["alembic_version"], lambda _: None)
            return str(row["version_num"])
        except (CannotImport, LookupError, ValueError):
            raise CannotImport("Could not determine appropriate database version") from None

    def own_table(self, table: str) -> str | None:
        """The name of the member that holds what is ours of *table*."""
        member = f"{OWN}/db/{table}.json"
        return member if member in self._members else None

    def own_tables(self) -> list[str]:
        """The names of all tables in our folder."""
        begin = f"{OWN}/db/"
        return [name.removeprefix(begin).removesuffix(".json") for name in self._members if name.startswith(begin)]

    def uploads(self) -> Iterator[tuple[str, str]]:
        """Each upload: its member, and the location that it claims."""
        apart: Mapping[str, str] = {} if self.manifest is None else self.manifest.apart
        for member in self._members:
            if member.startswith("uploads/"):
                yield member, member.removeprefix("uploads/")
            elif member in apart:
                yield member, apart[member]

    def pieces(self, member: str, advance: Advance) -> Iterator[bytes]:
        """The bytes of *member*, some at a time."""
        with _told(member), self._zip.open(self._members[member]) as stream:
            while piece := stream.read(_PIECE):
                advance(len(piece))
                yield piece

    def rows(self, member: str, advance: Advance) -> Iterator[Row]:
        """The rows of a table, of which a few are in memory at a time; an empty file has none."""
        with _told(member), self._zip.open(self._members[member]) as stream:
            yield from _rows(stream, member, advance)

    def _whole(self, member: str) -> bytes:
        if self._members[member].file_size > _LONGEST:
            raise CannotImport(f"{member} is too large")
        return b"".join(self.pieces(member, lambda _: None))


def _is_malicious(name: str) -> bool:
    return name.startswith(("/", "\\")) or name[1:2] == ":" or any(sign in name for sign in _MALICIOUS)


@contextmanager
def _told(member: str) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise CannotImport(f"{member} can't be read: {error}") from None


def _unreadable(member: str) -> CannotImport:
    return CannotImport(f"{member} is not a table in JSON")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_decode: Final = json.JSONDecoder(parse_constant=_no_number).raw_decode


def _rows(stream: IO[bytes], member: str, advance: Advance) -> Iterator[Row]:
    text = io.TextIOWrapper(stream, encoding="utf-8")

    def more() -> str:
        piece = text.read(_PIECE)
        advance(len(piece))
        return piece

    buffer = more()
    if not buffer.strip():
        return
    begin = _HEAD.match(buffer)
    if begin is None:
        raise _unreadable(member)
    position = begin.end()
    while True:
        position = _BETWEEN.match(buffer, position).end()  # type: ignore[union-attr]  # it matches nothing, too
        if buffer[position : position + 1] == "]":
            return
        try:
            row, position = _decode(buffer, position)
        except (ValueError, RecursionError):
            # Cut off, most likely; where it is broken the end comes, or the limit.
            piece = more()
            if not piece or len(buffer) - position > _LONGEST:
                raise _unreadable(member) from None
            buffer, position = buffer[position:] + piece, 0
            continue
        if not isinstance(row, dict):
            raise _unreadable(member)
        yield row
