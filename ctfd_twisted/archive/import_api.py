"""``/admin/import``: an archive in a form, and how its import goes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from ctfd_twisted.archive.desk import ImportDesk
from ctfd_twisted.archive.receiving import BACKUP, ReceivedArchive
from ctfd_twisted.archive.record import last
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.threads import InThread, carried_through
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.arriving import FormIntake, LetsIn, arrived
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Route, Routes

_PATH: Final = "/admin/import"
_ROUTE: Final = Route("POST", _PATH, (ADMIN,), "begin")


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
        begin = partial(ReceivedArchive, self._folder)
        received = await arrived(call, ReceivedArchive, begin, self._in_thread)
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


def import_intake(folder: Path, in_thread: InThread, lets_in: LetsIn, root: str, limit: int) -> FormIntake:
    """What takes archives of at most *limit* bytes to the disk while they arrive, from administrators alone."""
    return FormIntake(_ROUTE, partial(ReceivedArchive, folder), in_thread, lets_in, root, limit)
