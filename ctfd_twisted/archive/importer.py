"""An import from its beginning to its end: all of it, or nothing."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from ctfd_twisted.archive.loading import announce, check_manifest, lacking, load
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import Archive
from ctfd_twisted.archive.report import Report
from ctfd_twisted.archive.uploads import StagedUploads, add_to_report, read_through
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.loose import loosen
from ctfd_twisted.schema import metadata


class Importer:
    """Puts archives in the place of the competition in *db*; *folder* has room for trials."""

    def __init__(self, db: Database, in_thread: InThread, store: Store, folder: Path) -> None:
        self._db = db
        self._in_thread = in_thread
        self._store = store
        self._folder = folder

    async def try_out(self, file: BinaryIO, progress: Progress) -> Report:
        """What ``run`` would report, found out in a database of its own. Raises ``CannotImport``."""
        return await self._in_thread(self._try_out, file, progress)

    async def run(self, now: datetime, file: BinaryIO, progress: Progress) -> Report:
        """Replace the competition by the archive in *file*. Raises ``CannotImport``; then nothing has changed.

        Uploads come to locations that no row names before the transaction, so that it is complete when it commits, and
        to others after it. What comes to nothing is tidied away by whichever node is there.
        """
        archive = await self._in_thread(_opened, file, progress)
        staged = await self._in_thread(StagedUploads, archive, self._store, progress)
        try:
            new = await self._db.run(announce, now, staged.locations)
            try:
                await self._in_thread(staged.keep, new)
                report = await self._db.run(load, archive, progress, staged.locations)
            except BaseException:
                await self._db.run(loosen, new)
                raise
            await self._in_thread(staged.keep, staged.locations - new)
        finally:
            await self._in_thread(staged.discard)
        await self._in_thread(add_to_report, report, archive, staged.locations, self._store)
        return report

    def _try_out(self, file: BinaryIO, progress: Progress) -> Report:
        archive = _opened(file, progress)
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".trial-", dir=self._folder) as trial:
            engines = open_engines(f"sqlite:///{trial}/trial.sqlite")
            try:
                metadata.create_all(engines.write_engine)
                with engines.writer() as conn, conn.begin():
                    report = load(conn, archive, progress)
            finally:
                engines.close()
        add_to_report(report, archive, read_through(archive, progress), self._store)
        return report


def _opened(file: BinaryIO, progress: Progress) -> Archive:
    """The archive in *file*, of which it is known that it can be imported at all."""
    archive = Archive(file)
    lacking(archive.revision())
    check_manifest(archive)
    progress.begin(archive.size)
    return archive
