"""Files in a folder: ``<root>/<directory>/<name>``, as CTFd lays them out. Every function here waits for the disk."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from ctfd_twisted.files.content import Content
from ctfd_twisted.files.rules import Version, is_location

#: What the system says of a path that leads to no file.
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})
#: Where uploads wait until they are complete: on the same file system, under a name that no location begins with.
_STAGED: Final = ".incoming"
#: Seconds after which a file there, if nothing was written to it, is nobody's: idle connections end long before.
FORGOTTEN: Final = 3600


class Disk:
    """The upload folder at *root*."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Make the folder where it is missing; raises ``OSError`` where that can't be, or it can't be looked into."""
        self.root.mkdir(parents=True, exist_ok=True)
        with os.scandir(self.root):
            pass

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

    def offer(self, location: str, name: str, method: str) -> Content | None:
        """The file at *location*, as ``open`` gives it: it is sent from here."""
        del name, method
        return self.open(location)

    def stage(self, location: str) -> StagedFile:
        """A new file, wherever it is to be kept; the folder is made when the first one comes."""
        del location
        waiting = self.root / _STAGED
        waiting.mkdir(parents=True, exist_ok=True)
        return StagedFile(self, waiting / secrets.token_hex(16))

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

    def forget(self) -> None:
        """Remove what killed processes left among the files that come."""
        with suppress(FileNotFoundError):
            for left in (self.root / _STAGED).iterdir():
                with suppress(FileNotFoundError):  # moved to its place meanwhile, or removed by another process
                    if left.stat().st_mtime < time.time() - FORGOTTEN:
                        left.unlink()

    def _inside(self, location: str) -> Path | None:
        """Where *location* is kept; ``None`` where its directory lies outside of the folder, by dots or by links."""
        if not is_location(location):
            return None
        parts = location.split("/")
        root = self.root.resolve()
        directory = _resolved(root.joinpath(*parts[:-1]))
        return directory / parts[-1] if directory is not None and directory.is_relative_to(root) else None


class StagedFile:
    """A file that comes, under a name of its own on the same file system."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._file = path.open("xb")

    def write(self, data: bytes | bytearray) -> None:
        """Take the next piece. Raises ``OSError``."""
        self._file.write(data)

    def close(self) -> None:
        """Have all of it on the disk before anybody is told that it is kept. Raises ``OSError``."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def keep(self, location: str) -> None:
        """Move it to *location*. Raises ``OSError``."""
        self._disk.keep(self._path, location)

    def discard(self) -> None:
        """Remove it where it has not been moved."""
        with suppress(OSError):  # what can't be written out any more is not wanted
            self._file.close()
        with suppress(OSError):  # it is forgotten later
            self._path.unlink()


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links, or a name beyond all bounds
        return None
