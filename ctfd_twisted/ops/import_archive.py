"""``ctfplatform import``: an archive in the place of what the database holds."""

from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.archive.report import Report
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import Say
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.files.stores import store_at
from ctfd_twisted.ops.administration import CannotAdminister, migrate_database
from ctfd_twisted.ops.export import bar
from ctfd_twisted.settings import Settings

T = TypeVar("T")


def import_archive(settings: Settings, source: Path, *, dry_run: bool, say: Say) -> Report:
    """Import the archive *source*, or find out what would come of it; the database is migrated first.

    Raises ``CannotImport`` and ``CannotAdminister``; then nothing has changed.
    """
    try:
        with source.open("rb") as file, bar(" B") as progress:
            if not dry_run:
                migrate_database(settings, say)
            database = Database(open_engines(settings.database), Bus(), write=start_inline, read=start_inline)
            store = store_at(settings.uploads, settings.upload_limit, 1)
            try:
                importer = Importer(database, in_thread(start_inline), store, settings.data_dir)
                if dry_run:
                    return _done(importer.try_out(file, progress))
                return _done(importer.run(datetime.now(UTC), file, progress))
            finally:
                database.close()
    except OSError as error:
        raise CannotAdminister(f"the archive can't be imported: {error}") from None


def _done(work: Coroutine[Deferred[Any], Any, T]) -> T:
    """The value of *work*, all of which happens in this thread."""
    outcome: list[T | Failure] = []
    Deferred.fromCoroutine(work).addBoth(outcome.append)
    (value,) = outcome
    if isinstance(value, Failure):
        value.raiseException()
    return value
