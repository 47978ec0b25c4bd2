"""What happens to stored files when rows come and go: one change at a time."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files import store
from ctfd_twisted.files.disk import Disk


class Uploads:
    """The rows of files together with their content."""

    _log = Logger()

    def __init__(self, db: Database, disk: Disk, in_thread: InThread) -> None:
        self._db = db
        self._disk = disk
        self._in_thread = in_thread
        # What is removed must not have been put there again in the meantime.
        self._changing = DeferredLock()

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
