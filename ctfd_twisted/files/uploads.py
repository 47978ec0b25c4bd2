"""What happens to stored files when rows come and go: one change at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files import store
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.files.receiving import Received
from ctfd_twisted.files.rules import Place


class Uploads:
    """The rows of files together with their content."""

    _log = Logger()

    def __init__(self, db: Database, disk: Disk, in_thread: InThread) -> None:
        self._db = db
        self._disk = disk
        self._in_thread = in_thread
        # What is removed must not have been put there again in the meantime.
        self._changing = DeferredLock()

    async def add(self, owner: store.Owner, received: Received, places: Sequence[Place]) -> list[dict[str, Any]]:
        """Add the *received* files, each at its place; what is shown of them. Raises ``Invalid`` for no such owner."""
        parts = received.parts
        await self._changing.acquire()
        try:
            contents = [(place.location, part.sha1) for place, part in zip(places, parts, strict=True)]
            added = await self._db.run(store.add_files, owner, contents)
            try:
                for place, part in zip(places, parts, strict=True):
                    await self._in_thread(self._disk.keep, part.path, place.location)
            except OSError:
                await self._db.run(store.forget_files, [file.shown["id"] for file in added if file.new])
                raise
        finally:
            self._changing.release()
        return [file.shown for file in added]

    async def delete(self, file_id: int) -> None:
        """Remove a file, then its content. Raises ``NotFound``."""
        location = await self._db.run(store.delete_file, file_id)
        await self.remove(() if location is None else (location,))

    async def remove(self, locations: Sequence[str]) -> None:
        """Remove the content at *locations*, whose rows are gone, each with its directory where nothing else is in it.

        What can't be removed is told to whoever reads the log: the rows are gone already.
        """
        if not locations:
            return
        await self._changing.acquire()
        try:
            for left in await self._db.read(store.leftovers, locations):
                await self._in_thread(self._disk.remove, left.location, directory=left.alone)
        except OSError:
            self._log.failure("a deleted file's content can't be removed")
        finally:
            self._changing.release()
