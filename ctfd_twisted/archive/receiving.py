"""An archive that arrives in a form, written to the disk a piece at a time. Every method here waits for the disk."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from ctfd_twisted.archive.unnamed import unnamed_file
from ctfd_twisted.errors import DomainError, Invalid, TooLarge
from ctfd_twisted.http.forms import TEXT, boundary_of, unreadable

#: The name of the part that is the archive.
BACKUP: Final = "backup"
_PARTS: Final = 20


class ReceivedArchive:
    """The form's text fields, and the archive in a file without a name in *folder*."""

    def __init__(self, folder: Path, content_type: bytes) -> None:
        self._folder = folder
        self.fields: dict[str, str] = {}
        self.file: BinaryIO | None = None
        #: Why the form can't be taken.
        self.problem: DomainError | OSError | None = None
        self._parser: PushMultipartParser | None = None
        self._segment: MultipartSegment | None = None
        self._text = bytearray()
        self._length = 0
        try:
            self._parser = PushMultipartParser(boundary_of(content_type), max_segment_count=_PARTS)
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

    def take(self) -> BinaryIO | None:
        """The archive, which is the caller's to close from now on; None where the form held none."""
        file, self.file = self.file, None
        return file

    def discard(self) -> None:
        """Close the archive where nobody has taken it."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def _begin(self, segment: MultipartSegment) -> None:
        self._segment = segment
        self._text = bytearray()
        if segment.name == BACKUP and segment.filename and self.file is None:
            self.file = unnamed_file(self._folder)

    def _take(self, data: bytes | bytearray) -> None:
        if self._segment is None:
            return
        if self._segment.filename is not None:
            if self._segment.name == BACKUP and self.file is not None:
                self.file.write(data)
            return
        self._length += len(data)
        if self._length > TEXT:
            raise TooLarge(TEXT)
        self._text += data

    def _end(self) -> None:
        segment = self._segment
        if segment is not None and segment.name and segment.filename is None:
            self.fields[segment.name] = self._text.decode("utf-8", "replace").replace("\0", "")

    def _give_up(self, error: MultipartError | DomainError | OSError) -> None:
        self.problem = unreadable(str(error.args[0])) if isinstance(error, MultipartError) else error
        self.discard()
