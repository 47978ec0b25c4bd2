"""``ctfplatform export``: the archive of a competition, written beside a running platform or without one."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection
from tqdm import tqdm

from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.rules import archive_name
from ctfd_twisted.archive.writing import add_uploads, write_tables
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.adopt import recognise
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.files.stores import store_at
from ctfd_twisted.ops.administration import CannotAdminister
from ctfd_twisted.settings import Settings


def export_archive(settings: Settings, target: Path | None) -> Path:
    """Write the archive to *target*, in place of what is there, or under the competition's name to the working folder.

    Returns where it is. It holds secrets, so nobody else may read it. A bar on a terminal shows how far it is. Raises
    ``CannotAdminister``.
    """
    now = datetime.now(UTC)
    engines = open_engines(settings.database)
    uploads = store_at(settings.uploads, settings.upload_limit, 1)
    try:
        with engines.reader() as conn, conn.begin():
            if recognise(conn).kind != "ours":
                raise CannotAdminister("the database has no schema of the platform yet; run ctfplatform migrate")
            place = target or Path(_file_name(conn, now)).absolute()
            with _growing(place) as file, bar(" rows") as progress:
                contents = write_tables(conn, now, file, progress)
                conn.rollback()  # what follows may take long, and needs no state of the database
                add_uploads(file, contents, uploads.open, progress)
    except OSError as error:
        raise CannotAdminister(f"the archive can't be written: {error}") from None
    finally:
        engines.close()
    return place


def _file_name(conn: Connection, now: datetime) -> str:
    return archive_name(read_competition(conn).name, now).replace("/", "_").replace("\0", "_")


@contextmanager
def _growing(place: Path) -> Iterator[BinaryIO]:
    """A file that is at *place* once it is complete, and nowhere otherwise."""
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".ctfplatform-")
    with os.fdopen(descriptor, "w+b") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink()
            raise


@contextmanager
def bar(unit: str) -> Iterator[Progress]:
    """Progress in *unit* that a bar on a terminal shows."""
    with tqdm(unit=unit, unit_scale=True, file=sys.stderr, disable=None, leave=False) as shown:

        def tell(progress: Progress) -> None:
            shown.total = progress.total
            shown.update(progress.done - shown.n)

        yield Progress(tell)
