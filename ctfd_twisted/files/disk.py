"""Files in a folder: ``<root>/<directory>/<name>``, as CTFd lays them out. Every function here waits for the disk."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ctfd_twisted.files.rules import Version

#: What the system says of a path that leads to no file.
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})


class Content(NamedTuple):
    """An open file, and which version of it was opened."""

    file: BinaryIO
    version: Version


class Disk:
    """The upload folder at *root*, which is made when the first file comes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def open(self, location: str) -> Content | None:
        """The file at *location*; ``None`` where there is none, or where the way to it leads out of the folder.

        Raises ``OSError`` where there is one that cannot be read.
        """
        path = self.path(location)
        if path is None:
            return None
        try:
            # Not to wait for whoever writes into a named pipe.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            return None
        return Content(os.fdopen(descriptor, "rb"), Version(found.st_size, found.st_mtime_ns))

    def path(self, location: str) -> Path | None:
        """Where *location* is kept; ``None`` for one that leads out of the folder, by dots or by links."""
        parts = location.split("/")
        if "\0" in location or any(part in {"", ".", ".."} for part in parts):
            return None
        root = self.root.resolve()
        try:
            path = root.joinpath(*parts).resolve()
        except (OSError, RuntimeError):  # a circle of links
            return None
        return path if path.is_relative_to(root) else None
