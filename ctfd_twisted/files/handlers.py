"""All handlers of files, for the one place where the platform is put together."""

from __future__ import annotations

from pathlib import Path

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.challenges.view import Views
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.admission import Doorkeeper, ReadSigned
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.files.download_api import DownloadApi
from ctfd_twisted.http.site import HasRoutes


def file_handlers(
    db: Database, folder: Path, in_thread: InThread, views: Views, read_signed: ReadSigned, clock: IReactorTime
) -> list[HasRoutes]:
    """Every class of routes about files, which are kept in *folder*; *read_signed* is ``Keys.read_signed``."""
    disk = Disk(folder)
    return [DownloadApi(db, disk, in_thread, Doorkeeper(db, views, read_signed), clock)]
