"""An upload's body to files, a piece at a time. Every method here waits for the disk."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct
from multipart import MultipartError, MultipartSegment, PushMultipartParser

from ctfd_twisted.errors import DomainError, Invalid, TooLarge
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.http.forms import TEXT, boundary_of, unreadable

#: So many parts are read of one upload.
PARTS: Final = 200
#: The name of the parts that are files.
_FILE: Final = "file"


class Part(Struct, frozen=True):
    """A file that has come whole: what it was called, where it waits, and the SHA-1 of its content in hex."""

    filename: str
    path: Path
    sha1: str


class Received:
    """One upload: its text fields, and its files in a folder of their own until they are moved to their places."""

    def __init__(self, disk: Disk, content_type: bytes) -> None:
        self._disk = disk
        self.fields: dict[str, str] = {}
        self.parts: list[Part] = []
        #: Why the upload can't be taken: it is broken, or the disk refuses.
        self.problem: DomainError | OSError | None = None
        self._parser: PushMultipartParser | None = None
        self._folder: Path | None = None
        self._segment: MultipartSegment | None = None
        self._file: BinaryIO | None = None
        self._sha1 = hashlib.sha1(usedforsecurity=False)
        self._text = bytearray()
        self._length = 0
        try:
            self._parser = PushMultipartParser(boundary_of(content_type), max_segment_count=PARTS)
        except (MultipartError, Invalid) as error:
            self._give_up(error)

    def feed(self, data: bytes) -> None:
        """Take the next piece; after a problem the rest is forgotten."""
        if self.problem is not None or self._parser is None:
            return
        try:
            for event in self._parser.parse(data):
                if isinstance(event, MultipartSegment):
                    self._begin(event)
                elif event is None:
                    self._end()
                else:
                    self._take(event)
        except (MultipartError, DomainError, OSError) as error:
            self._give_up(error)

    def finish(self) -> None:
        """Know that the body is complete, or that it ended too early."""
        if self.problem is None and self._parser is not None:
            try:
                self._parser.close()
            except MultipartError as error:
                self._give_up(error)

    def discard(self) -> None:
        """Remove what has not been moved to its place."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _begin(self, segment: MultipartSegment) -> None:
        self._segment = segment
        self._text = bytearray()
        if segment.name != _FILE or segment.filename is None:
            return
        if self._folder is None:
            self._folder = self._disk.stage()
        self._file = (self._folder / str(len(self.parts))).open("wb")
        self._sha1 = hashlib.sha1(usedforsecurity=False)

    def _take(self, data: bytes | bytearray) -> None:
        if self._file is not None:
            self._file.write(data)
            self._sha1.update(data)
        elif self._segment is not None and self._segment.filename is None:
            self._length += len(data)
            if self._length > TEXT:
                raise TooLarge(TEXT)
            self._text += data

    def _end(self) -> None:
        segment, file = self._segment, self._file
        if file is not None and segment is not None:
            file.close()
            self._file = None
            self.parts.append(Part(segment.filename or "", Path(file.name), self._sha1.hexdigest()))
        elif segment is not None and segment.name and segment.filename is None:
            self.fields[segment.name] = self._text.decode("utf-8", "replace").replace("\0", "")

    def _give_up(self, error: MultipartError | DomainError | OSError) -> None:
        self.problem = unreadable(str(error.args[0])) if isinstance(error, MultipartError) else error
        self.discard()
        self.parts.clear()
