"""An archive that arrives in a form, written to the disk a piece at a time. Every method here waits for the disk."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from ctfd_twisted.archive.unnamed import unnamed_file
from ctfd_twisted.http.arriving import ArrivingForm

#: The name of the part that is the archive.
BACKUP: Final = "backup"
_PARTS: Final = 20


class ReceivedArchive(ArrivingForm):
    """The form's text fields, and the archive in a file without a name in *folder*."""

    def __init__(self, folder: Path, content_type: bytes) -> None:
        self._folder = folder
        self.file: BinaryIO | None = None
        #: Whether what comes now is the archive.
        self._coming = False
        super().__init__(content_type, _PARTS)

    def take(self) -> BinaryIO | None:
        """The archive, which is the caller's to close from now on; None where the form held none."""
        file, self.file = self.file, None
        return file

    def discard(self) -> None:
        """Close the archive where nobody has taken it."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def file_begins(self, name: str, filename: str) -> None:
        """Make room for the archive; browsers send a file without a name where none was chosen."""
        self._coming = name == BACKUP
        if self._coming and filename and self.file is None:
            self.file = unnamed_file(self._folder)

    def file_goes_on(self, data: bytes | bytearray) -> None:
        """Write the archive; other files are forgotten."""
        if self._coming and self.file is not None:
            self.file.write(data)

    def file_ends(self) -> None:
        """Nothing to do: an archive that did not come whole can't be read."""
