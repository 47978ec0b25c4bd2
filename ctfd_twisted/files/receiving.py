"""An upload's body to the store, a piece at a time. Every method here waits for the store."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from msgspec import Struct

from ctfd_twisted.files.content import Staged, Store
from ctfd_twisted.files.rules import Place, safe_name
from ctfd_twisted.http.arriving import ArrivingForm

#: So many parts are read of one upload.
PARTS: Final = 200
#: The name of the parts that are files.
_FILE: Final = "file"


class Part(Struct, frozen=True):
    """A file that has come whole: its content, the place that it has if nobody names another, and the SHA-1 in hex."""

    place: Place
    content: Staged
    sha1: str


class Received(ArrivingForm):
    """One upload: its text fields, and its files, staged until they are kept."""

    def __init__(self, store: Store, content_type: bytes) -> None:
        self._store = store
        self.parts: list[Part] = []
        #: Whether a file came whose name nothing is left of; the fields behind it may still be wanted.
        self.unnamed = False
        self._place: Place | None = None
        self._content: Staged | None = None
        self._sha1 = hashlib.sha1(usedforsecurity=False)
        super().__init__(content_type, PARTS)

    def discard(self) -> None:
        """Remove what has not been kept."""
        if self._content is not None:
            self._content.discard()
            self._content = None
        for part in self.parts:
            part.content.discard()
        self.parts = []

    def file_begins(self, name: str, filename: str) -> None:
        """Stage a file; those of other names are forgotten."""
        if name != _FILE:
            return
        self._place = Place(secrets.token_hex(16), safe_name(filename))
        if not self._place.name:
            self.unnamed = True
            return
        self._content = self._store.stage(self._place.location)
        self._sha1 = hashlib.sha1(usedforsecurity=False)

    def file_goes_on(self, data: bytes | bytearray) -> None:
        """Write the file."""
        if self._content is not None:
            self._content.write(data)
            self._sha1.update(data)

    def file_ends(self) -> None:
        """Count the file among those that have come."""
        content = self._content
        if content is not None and self._place is not None:
            content.close()
            self._content = None
            self.parts.append(Part(self._place, content, self._sha1.hexdigest()))
