"""All handlers of files, for the one place where the platform is put together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from twisted.application.service import IService
from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.challenges.view import Views
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.admission import Doorkeeper, ReadSigned
from ctfd_twisted.files.api import FilesApi
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.download_api import DownloadApi
from ctfd_twisted.files.tidying import Tidying
from ctfd_twisted.files.upload_api import UploadApi, upload_intake
from ctfd_twisted.files.uploads import Uploads
from ctfd_twisted.http.arriving import FormIntake, LetsIn
from ctfd_twisted.http.site import HasRoutes


class FileRoom:
    """The stored files: what the platform does with them, and the handlers about them."""

    def __init__(self, db: Database, store: Store, in_thread: InThread, now: Callable[[], datetime]) -> None:
        self._db = db
        self._store = store
        self._in_thread = in_thread
        self.uploads = Uploads(db, store, in_thread, now)

    def handlers(self, views: Views, read_signed: ReadSigned, clock: IReactorTime) -> list[HasRoutes]:
        """Every class of routes about files; *read_signed* is ``Keys.read_signed``."""
        doorkeeper = Doorkeeper(self._db, views, read_signed)
        return [
            FilesApi(self._db, self.uploads),
            UploadApi(self.uploads, self._store, self._in_thread),
            DownloadApi(self._db, self._store, self._in_thread, doorkeeper, clock),
        ]

    def intake(self, lets_in: LetsIn, root: str, limit: int) -> FormIntake:
        """What takes uploads of at most *limit* bytes while they arrive at a site mounted at *root*."""
        return upload_intake(self._store, self._in_thread, lets_in, root, limit)

    def tidying(self, clock: IReactorTime) -> IService:
        """The service that removes what killed processes left behind."""
        return Tidying(clock, self.uploads)
