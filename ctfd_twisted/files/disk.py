"""Files in a folder: ``<root>/<directory>/<name>``, as CTFd lays them out. Every function here waits for the disk."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ctfd_twisted.files.rules import Version

#: What the system says of a path that leads to no file.
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})


#: Where uploads wait until they are complete: on the same file system, under a name that no location begins with.
_STAGED: Final = ".incoming"
#: Seconds after which a folder there is nobody's.
_FORGOTTEN: Final = 86_400


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
        place = self._inside(location)
        path = None if place is None else _resolved(place)
        if path is None or not path.is_relative_to(self.root.resolve()):
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

    def stage(self) -> Path:
        """A new folder for what is not complete yet; those that a killed process left behind a day ago go."""
        waiting = self.root / _STAGED
        waiting.mkdir(parents=True, exist_ok=True)
        for old in waiting.iterdir():
            with suppress(FileNotFoundError):
                if old.stat().st_mtime < time.time() - _FORGOTTEN:
                    shutil.rmtree(old)
        return Path(tempfile.mkdtemp(dir=waiting))

    def keep(self, staged: Path, location: str) -> None:
        """Move a complete file to *location*, in place of what may be there. Raises ``OSError``."""
        path = self._inside(location)
        if path is None:
            raise NotADirectoryError(errno.ENOTDIR, "the directory is not within the upload folder", location)
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(path)

    def remove(self, location: str, *, directory: bool) -> None:
        """Remove the file at *location*, with everything in its directory where *directory* says so.

        What is not there is no error. Raises ``OSError`` where something can't be removed.
        """
        path = self._inside(location)
        if path is None:
            return
        first = self.root.resolve() / location.partition("/")[0]
        try:
            if directory and path.parent == first:
                shutil.rmtree(first)
            else:
                path.unlink()
        except OSError as error:
            if error.errno not in _MISSING:
                raise

    def _inside(self, location: str) -> Path | None:
        """Where *location* is kept; ``None`` where its directory lies outside of the folder, by dots or by links."""
        parts = location.split("/")
        if "\0" in location or any(part in {"", ".", ".."} for part in parts):
            return None
        root = self.root.resolve()
        directory = _resolved(root.joinpath(*parts[:-1]))
        return directory / parts[-1] if directory is not None and directory.is_relative_to(root) else None


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links, or a name beyond all bounds
        return None
