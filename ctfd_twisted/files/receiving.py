"""An upload's body to the store, a piece at a time. Every method here waits for the store."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from msgspec import Struct
from multipart import MultipartError, MultipartSegment, PushMultipartParser

from ctfd_twisted.errors import Invalid, TooLarge
from ctfd_twisted.files.content import Staged, Store
from ctfd_twisted.files.rules import Place, safe_name
from ctfd_twisted.http.forms import TEXT, boundary_of, unreadable

#: So many parts are read of one upload.
PARTS: Final = 200
#: The name of the parts that are files.
_FILE: Final = "file"


class Part(Struct, frozen=True):
    """A file that has come whole: its content, the place that it has if nobody names another, and the SHA-1 in hex."""

    place: Place
    content: Staged
    sha1: str


class Received:
    """One upload: its text fields, and its files, staged until they are kept."""

    def __init__(self, store: Store, content_type: bytes) -> None:
        self._store = store
        self.fields: dict[str, str] = {}
        self.parts: list[Part] = []
        #: Why the upload can't be taken: it is broken, the store refuses, or there is a defect of ours.
        self.problem: Exception | None = None
        #: Whether a file came whose name nothing is left of; the fields behind it may still be wanted.
        self.unnamed = False
        self._parser: PushMultipartParser | None = None
        self._segment: MultipartSegment | None = None
        self._place: Place | None = None
        self._content: Staged | None = None
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
        except Exception as error:  # noqa: BLE001 - whoever answers raises it; parts of an upload must not pass for it
            self._give_up(error)

    def finish(self) -> None:
        """Know that the body is complete, or that it ended too early."""
        if self.problem is None and self._parser is not None:
            try:
                self._parser.close()
            except MultipartError as error:
                self._give_up(error)

    def discard(self) -> None:
        """Remove what has not been kept."""
        if self._content is not None:
            self._content.discard()
            self._content = None
        for part in self.parts:
            part.content.discard()
        self.parts = []

    def _begin(self, segment: MultipartSegment) -> None:
        self._segment = segment
        self._text = bytearray()
        if segment.name != _FILE or segment.filename is None:
            return
        self._place = Place(secrets.token_hex(16), safe_name(segment.filename))
        if not self._place.name:
            self.unnamed = True
            return
        self._content = self._store.stage(self._place.location)
        self._sha1 = hashlib.sha1(usedforsecurity=False)

    def _take(self, data: bytes | bytearray) -> None:
        if self._content is not None:
            self._content.write(data)
            self._sha1.update(data)
        elif self._segment is not None and self._segment.filename is None:
            self._length += len(data)
            if self._length > TEXT:
                raise TooLarge(TEXT)
            self._text += data

    def _end(self) -> None:
        segment, content = self._segment, self._content
        if content is not None and self._place is not None:
            content.close()
            self._content = None
            self.parts.append(Part(self._place, content, self._sha1.hexdigest()))
        elif segment is not None and segment.name and segment.filename is None:
            self.fields[segment.name] = self._text.decode("utf-8", "replace").replace("\0", "")

    def _give_up(self, error: Exception) -> None:
        self.problem = unreadable(str(error.args[0])) if isinstance(error, MultipartError) else error
        self.discard()
