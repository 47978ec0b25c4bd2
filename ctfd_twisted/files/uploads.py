"""What happens to stored files when rows come and go: one change at a time.

A transaction writes down which content comes, the content is kept, and a second transaction adds the rows. Whoever is
killed in between leaves content that no row names and nobody is shown; it is found where it was written down. A row
goes first too, and its content after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files import loose, store
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.receiving import Part
from ctfd_twisted.files.rules import Place

#: So many abandoned locations are cleared at a time.
_AT_A_TIME: Final = 100


class Uploads:
    """The rows of files together with their content."""

    _log = Logger()

    def __init__(self, db: Database, contents: Store, in_thread: InThread, now: Callable[[], datetime]) -> None:
        self._db = db
        self._store = contents
        self._in_thread = in_thread
        self._now = now
        # What is removed must not have been put there again in the meantime.
        self._changing = DeferredLock()

    async def add(self, owner: store.Owner, parts: Sequence[Part], places: Sequence[Place]) -> list[store.FileShown]:
        """Add the files that have come, each at its place; what is shown of them. Raises ``Invalid`` for no such owner.

        Raises ``OSError`` where their content can't be kept; nothing is added then.
        """
        contents = [(place.location, part.sha1) for place, part in zip(places, parts, strict=True)]
        expected = [location for location, _ in contents] + [part.place.location for part in parts]
        await self._changing.acquire()
        try:
            await self._db.run(store.expect_files, self._now(), owner, expected)
            try:
                for place, part in zip(places, parts, strict=True):
                    await self._in_thread(part.content.keep, place.location)
                return await self._db.run(store.keep_files, owner, contents, expected)
            except Exception:
                await self._clear(expected)
                raise
        finally:
            self._changing.release()

    async def delete(self, file_id: int) -> None:
        """Remove a file, then its content. Raises ``NotFound``."""
        await self.remove(await self._db.run(store.delete_file, file_id))

    async def remove(self, locations: Sequence[str]) -> None:
        """Remove the content at *locations*, whose rows are gone, each with its directory where nothing else is in it.

        What can't be removed now is told to whoever reads the log, and removed later: the rows are gone already.
        """
        if not locations:
            return
        await self._changing.acquire()
        try:
            await self._clear(locations)
        finally:
            self._changing.release()

    async def tidy(self) -> None:
        """Remove what was abandoned: by processes that were killed, or because the store could not be used."""
        await self._in_thread(self._store.forget)
        while locations := await self._db.read(loose.abandoned, self._now(), _AT_A_TIME):
            await self._changing.acquire()
            try:
                cleared = await self._clear(locations)
            finally:
                self._changing.release()
            if not cleared:
                return

    async def _clear(self, locations: Sequence[str]) -> bool:
        """Remove the content at *locations* that no row names; whether all of it is gone. Never fails."""
        try:
            for left in await self._db.read(loose.leftovers, locations):
                await self._in_thread(self._store.remove, left.location, directory=left.alone)
            await self._db.run(loose.settle, locations)
        except Exception:  # noqa: BLE001 - it is written down, and tried again
            self._log.failure("the content of deleted files can't be removed; it is tried again within the hour")
            return False
        return True
