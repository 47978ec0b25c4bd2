"""Where imports are asked for: one at a time on a node. How the last one went is written down for all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import BinaryIO

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ctfd_twisted.archive import record
from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import CannotImport
from ctfd_twisted.archive.report import Report
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.errors import Busy, Forbidden


class ImportDesk:
    """Begins imports, which go on when nobody waits for them."""

    _log = Logger()

    def __init__(self, db: Database, importer: Importer, in_thread: InThread, now: Callable[[], datetime]) -> None:
        self._db = db
        self._importer = importer
        self._in_thread = in_thread
        self._now = now
        #: How far the import is that goes on here.
        self.under_way: Progress | None = None

    async def begin(self, file: BinaryIO, asked_by: str, *, trial: bool) -> None:
        """Import the archive in *file*, and close it. Raises ``Forbidden`` while another is being imported."""
        if self.under_way is not None:
            self._in_thread(file.close)
            raise Forbidden("Import currently in progress")
        progress = self.under_way = Progress()
        try:
            number = await self._db.run(record.begin, self._now(), trial=trial)
        except BaseException:
            self.under_way = None
            self._in_thread(file.close)
            raise
        self._log.info("{who} {does} an archive", who=asked_by, does="tries out" if trial else "imports")
        work = self._run(number, file, progress, trial=trial)
        Deferred.fromCoroutine(work).addErrback(lambda reason: self._log.failure("an import is lost", reason))

    async def _run(self, number: int, file: BinaryIO, progress: Progress, *, trial: bool) -> None:
        problem, lines = None, []
        try:
            report = await self._done(file, progress, trial=trial)
            lines = report.lines()
            self._log.info("{lines}", lines="; ".join(lines))
        except Exception as error:  # noqa: BLE001 - a defect of ours is told as one
            problem = self._problem(error)
        finally:
            self._in_thread(file.close)
            self.under_way = None
        await self._db.run(record.end, number, self._now(), problem, lines)

    async def _done(self, file: BinaryIO, progress: Progress, *, trial: bool) -> Report:
        if trial:
            return await self._importer.try_out(file, progress)
        return await self._importer.run(self._now(), file, progress)

    def _problem(self, error: Exception) -> str:
        if isinstance(error, CannotImport | Busy | OSError):
            self._log.warn("an archive can't be imported: {problem}", problem=str(error))
            return str(error)
        self._log.failure("an archive can't be imported", Failure(error))
        return "An Internal Server Error has occurred; the log says more"
