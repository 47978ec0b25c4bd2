"""Exports for requests: written by threads into files without a name, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure

from ctfd_twisted.archive.progress import Abandoned, Progress
from ctfd_twisted.archive.sheets import write_sheet
from ctfd_twisted.archive.unnamed import unnamed_file
from ctfd_twisted.archive.writing import OpenUpload, add_uploads, write_tables
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread

#: Writes an export into a file.
Write = Callable[[BinaryIO, Progress], Coroutine[Deferred[Any], Any, None]]


class Written(NamedTuple):
    """A complete export: a file that is gone when it is closed, and its size in bytes."""

    file: BinaryIO
    size: int


class Exporter:
    """Writes exports into *folder*, which is made where it is missing.

    At most one archive and one CSV file are being written; others wait for their turn, so that readers of the database
    are left for those who play. An export ends early when nobody waits for it any more.
    """

    _log = Logger()

    def __init__(self, db: Database, in_thread: InThread, open_upload: OpenUpload, folder: Path) -> None:
        self._db = db
        self._in_thread = in_thread
        self._open_upload = open_upload
        self._folder = folder
        self._archives = DeferredLock()
        self._sheets = DeferredLock()
        #: How far the archive is that is being written; ``None`` where none is.
        self.under_way: Progress | None = None

    async def archive(self, now: datetime) -> Written:
        """The whole competition as it is at one moment."""

        async def write(file: BinaryIO, progress: Progress) -> None:
            self.under_way = progress
            try:
                contents = await self._db.read(write_tables, now, file, progress)
                await self._in_thread(add_uploads, file, contents, self._open_upload, progress)
            finally:
                self.under_way = None

        return await self._written(self._archives, write)

    async def sheet(self, name: str) -> Written:
        """The CSV file called *name*, one that ``find_sheet`` knows."""

        async def write(file: BinaryIO, progress: Progress) -> None:
            await self._db.read(write_sheet, name, file, progress)

        return await self._written(self._sheets, write)

    async def _written(self, turns: DeferredLock, write: Write) -> Written:
        progress = Progress()
        # Whoever waits may be cancelled at any moment; the thread that writes goes on to its next step, and the file
        # is closed after it.
        waiting: Deferred[Written] = Deferred(lambda _: progress.abandon())

        def succeeded(written: Written) -> None:
            if waiting.called:
                self._in_thread(written.file.close)
            else:
                waiting.callback(written)

        def failed(reason: Failure) -> None:
            if not waiting.called:
                waiting.errback(reason)
            elif reason.check(Abandoned) is None:
                self._log.failure("an export that nobody waits for has failed", reason)

        Deferred.fromCoroutine(self._in_turn(turns, write, progress)).addCallbacks(succeeded, failed)
        return await waiting

    async def _in_turn(self, turns: DeferredLock, write: Write, progress: Progress) -> Written:
        await turns.acquire()
        try:
            progress.advance(0)  # or nobody wants it any more
            file = await self._in_thread(unnamed_file, self._folder)
            try:
                await write(file, progress)
                return Written(file, await self._in_thread(file.seek, 0, 2))
            except BaseException:
                self._in_thread(file.close)
                raise
        finally:
            turns.release()
