"""``/api/v1/files``: all of it for administrators."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import carried_through
from ctfd_twisted.files import store
from ctfd_twisted.files.store import FileFilter, FileShown
from ctfd_twisted.files.uploads import Uploads
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/files"
_ONE: Final = "/api/v1/files/<file_id>"


class FilesApi:
    """Files, without their content."""

    routes = Routes()

    def __init__(self, db: Database, uploads: Uploads) -> None:
        self._db = db
        self._uploads = uploads

    @routes.get(_ALL, ADMIN, query=FileFilter, data=list[FileShown])
    async def list_files(self, call: Call) -> Answer:
        """All files, or those that the query describes."""
        return ok(await self._db.read(store.list_files, call.query(FileFilter)))

    @routes.get(_ONE, ADMIN, data=FileShown)
    async def show(self, call: Call, file_id: str) -> Answer:
        """One file."""
        del call
        return ok(await self._db.read(store.read_file, row_id(file_id)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, file_id: str) -> Answer:
        """Remove a file, then its content."""
        del call
        await carried_through(self._uploads.delete(row_id(file_id)))
        return done()
