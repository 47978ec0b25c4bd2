"""Where imports are asked for on a node: one at a time, and how the last one went."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import BinaryIO

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import CannotImport
from ctfd_twisted.archive.report import Report
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.errors import Busy, Forbidden


class Import:
    """One import, or trial of one: how far it is, or what came of it."""

    def __init__(self, began: datetime, *, trial: bool) -> None:
        self.began = began
        self.trial = trial
        self.progress = Progress()
        self.ended: datetime | None = None
        #: Why nothing has changed.
        self.problem: str | None = None
        self.lines: list[str] = []


class ImportDesk:
    """Begins imports, which go on when nobody waits for them."""

    _log = Logger()

    def __init__(self, importer: Importer, in_thread: InThread, now: Callable[[], datetime]) -> None:
        self._importer = importer
        self._in_thread = in_thread
        self._now = now
        #: The last one that was begun here.
        self.last: Import | None = None

    def begin(self, file: BinaryIO, asked_by: str, *, trial: bool) -> None:
        """Import the archive in *file*, and close it. Raises ``Forbidden`` while another is being imported."""
        if self.last is not None and self.last.ended is None:
            self._in_thread(file.close)
            raise Forbidden("Import currently in progress")
        self._log.info("{who} {does} an archive", who=asked_by, does="tries out" if trial else "imports")
        current = self.last = Import(self._now(), trial=trial)
        Deferred.fromCoroutine(self._run(current, file)).addErrback(self._failed, current)

    async def _run(self, current: Import, file: BinaryIO) -> None:
        try:
            report = await self._done(current, file)
        finally:
            self._in_thread(file.close)
        current.lines = report.lines()
        current.ended = self._now()
        self._log.info("{lines}", lines="; ".join(current.lines))

    async def _done(self, current: Import, file: BinaryIO) -> Report:
        if current.trial:
            return await self._importer.try_out(file, current.progress)
        return await self._importer.run(current.began, file, current.progress)

    def _failed(self, reason: Failure, current: Import) -> None:
        current.ended = self._now()
        error = reason.value
        if isinstance(error, CannotImport | Busy | OSError):
            current.problem = str(error)
            self._log.warn("an archive can't be imported: {problem}", problem=current.problem)
        else:
            current.problem = "An Internal Server Error has occurred; the log says more"
            self._log.failure("an archive can't be imported", reason)
