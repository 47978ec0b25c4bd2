"""``/admin/import``: an archive in a form, and how its import goes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, Protocol

from twisted.web.server import Request

from ctfd_twisted.archive.desk import ImportDesk
from ctfd_twisted.archive.receiving import BACKUP, ReceivedArchive
from ctfd_twisted.archive.record import last
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread, carried_through
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.intake import taken_by
from ctfd_twisted.http.routes import Route, Routes

_PATH: Final = "/admin/import"
_ROUTE: Final = Route("POST", _PATH, (ADMIN,), "begin")

#: ``Pipeline.lets_in``: whether a request, of which the headers have come, would get past a route's gates.
LetsIn = Callable[[Request, Route], Coroutine[Any, Any, bool]]


class Renderer(Protocol):
    """Renders pages; the web interface provides it."""

    def render(self, call: Call, template: str, status: int = 200, **context: Any) -> Answer:
        """Return the page of *template* with *context*."""


class ImportPages:
    """The page of imports."""

    routes = Routes()

    def __init__(self, db: Database, pages: Renderer, desk: ImportDesk, in_thread: InThread, folder: Path) -> None:
        self._db = db
        self._pages = pages
        self._desk = desk
        self._in_thread = in_thread
        self._folder = folder

    @routes.get(_PATH, ADMIN)
    async def show(self, call: Call) -> Answer:
        """How the last import goes, or went."""
        found = await self._db.read(last, call.now)
        return self._pages.render(call, "admin/import.html", last=found, under_way=self._desk.under_way)

    @routes.post(_PATH, ADMIN, limit=(10, 60))
    async def begin(self, call: Call) -> Answer:
        """Begin an import, or with ``dry_run`` a trial of one."""
        return await carried_through(self._begin(call))

    async def _begin(self, call: Call) -> Answer:
        received = await self._received(call)
        try:
            if received.problem is not None:
                raise received.problem
            file = received.take()
            if file is None:
                raise Invalid({BACKUP: ["Choose an archive first"]})
            who = call.require_player().name
            await self._desk.begin(file, who or "somebody", trial=bool(received.fields.get("dry_run")))
        finally:
            await self._in_thread(received.discard)
        return redirect(call.url(_PATH))

    async def _received(self, call: Call) -> ReceivedArchive:
        taking = taken_by(call.request)
        claimed = None if taking is None else taking.claim()
        if isinstance(claimed, ReceivedArchive):
            return claimed
        # The request holds it: this server has no intake.
        received = ReceivedArchive(self._folder, call.request.getHeader(b"content-type") or b"")
        await self._in_thread(received.feed, call.raw_body())
        await self._in_thread(received.finish)
        return received


class ImportIntake:
    """Takes archives of at most *limit* bytes to the disk while they arrive, from administrators alone."""

    def __init__(self, folder: Path, in_thread: InThread, lets_in: LetsIn, root: str, limit: int) -> None:
        self._folder = folder
        self._path = (root + _PATH).encode("utf-8")
        self._lets_in = lets_in
        self.in_thread = in_thread
        self.limit = limit

    def takes(self, request: Request) -> bool:
        """Whether *request* brings an archive."""
        kind = (request.getHeader(b"content-type") or b"").split(b";", 1)[0].strip().lower()
        return request.method == b"POST" and request.path == self._path and kind == b"multipart/form-data"

    async def admits(self, request: Request) -> bool:
        """Whether an administrator sends it."""
        return await self._lets_in(request, _ROUTE)

    def receiver(self, request: Request) -> ReceivedArchive:
        """A place for what comes."""
        return ReceivedArchive(self._folder, request.getHeader(b"content-type") or b"")
