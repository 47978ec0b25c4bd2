"""``GET /files/<location>``."""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.errors import NotFound
from ctfd_twisted.files import store as rows
from ctfd_twisted.files.admission import Doorkeeper
from ctfd_twisted.files.content import Content, Elsewhere, Store
from ctfd_twisted.files.rules import content_type, disposition, is_location
from ctfd_twisted.files.sending import Download
from ctfd_twisted.files.trouble import reached
from ctfd_twisted.http.answers import TEXT, Answer, StreamedAnswer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes

#: Whatever is in a file, it does nothing in this site's name.
_HARMLESS: Final = (b"Content-Security-Policy", b"default-src 'none'; sandbox")
#: Whoever has a copy asks again whether it is still theirs.
_ASK_AGAIN: Final = (b"Cache-Control", b"no-cache")
_ASKED: Final = ("range", "if-range", "if-none-match", "if-modified-since")


class DownloadApi:
    """Stored files, to whoever may have them."""

    routes = Routes()

    def __init__(
        self, db: Database, store: Store, in_thread: InThread, doorkeeper: Doorkeeper, clock: IReactorTime
    ) -> None:
        self._db = db
        self._store = store
        self._in_thread = in_thread
        self._doorkeeper = doorkeeper
        self._clock = clock

    @routes.get("/files/<path:location>", ANYONE, before_setup=True)
    async def download(self, call: Call, location: str) -> Answer:
        """The file at *location*, or the part of it that ``Range`` asks for."""
        if not is_location(location):  # and PostgreSQL can't even be asked for all of these
            raise NotFound
        await self._doorkeeper.admit(call, await self._db.read(rows.find_file, location))
        name, method = location.rpartition("/")[2], call.request.method.decode("ascii", "replace")
        found = await reached(self._in_thread(self._store.offer, location, name, method))
        if found is None:
            raise NotFound
        if isinstance(found, Elsewhere):
            return redirect(found.url, _ASK_AGAIN)
        return self._answer(call, name, found)

    def _answer(self, call: Call, name: str, content: Content) -> Answer:
        version = content.version
        headers: tuple[tuple[bytes, bytes], ...] = (
            (b"Accept-Ranges", b"bytes"),
            _ASK_AGAIN,
            (b"Content-Disposition", disposition(name).encode("ascii")),
            (b"ETag", version.etag.encode("ascii")),
            (b"Last-Modified", version.last_modified.encode("ascii")),
            _HARMLESS,
        )
        asked = {header: value for header in _ASKED if (value := call.request.getHeader(header)) is not None}
        wanted = version.wanted(asked)
        if wanted is None or version.is_held(asked):
            self._in_thread(content.file.close)
            if version.is_held(asked):
                return Answer(b"", 304, content_type(name), headers)
            return Answer(b"", 416, TEXT, (*headers, (b"Content-Range", b"bytes */%d" % version.size)))
        part = len(wanted) < version.size
        if part:
            span = b"bytes %d-%d/%d" % (wanted.start, wanted.stop - 1, version.size)
            headers = (*headers, (b"Content-Range", span))
        sending = Download(content, wanted, self._in_thread, self._clock)
        return StreamedAnswer(
            b"",
            206 if part else 200,
            content_type(name),
            headers,
            length=len(wanted),
            send=sending.send,
            drop=sending.close,
        )
