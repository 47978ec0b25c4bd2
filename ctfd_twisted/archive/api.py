"""Exports as downloads, for administrators: ``/api/v1/exports/raw``, ``/admin/export`` and ``/admin/export/csv``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, BinaryIO, Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType
from twisted.web.server import Request

from ctfd_twisted.archive.exporter import Exporter, Written
from ctfd_twisted.archive.rules import archive_name, sheet_name
from ctfd_twisted.archive.sheets import find_sheet
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.files.rules import disposition
from ctfd_twisted.files.trouble import reached
from ctfd_twisted.http.answers import Answer, StreamedAnswer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

ZIP: Final = "application/zip"
CSV: Final = "text/csv; charset=utf-8"
_LIMIT: Final = (10, 60)
#: Characters of an unknown table's name that are said back.
_SAID: Final = 80


class Sending(Protocol):
    """Sends a file to a request, and closes it in any case."""

    def send(self, request: Request) -> Awaitable[None]:
        """Send all of it."""

    def close(self) -> None:
        """Send nothing."""


#: How a file of so many bytes is sent.
SendFile = Callable[[BinaryIO, int], Sending]


class WantedExport(msgspec.Struct, frozen=True):
    """``csv`` for the table or report that ``args.table`` names; anything else, or nothing, for the whole archive."""

    type: str | UnsetType | None = UNSET
    args: dict[str, Any] | UnsetType | None = UNSET


class ExportsApi:
    """Downloads of the whole competition, and of single tables and reports."""

    routes = Routes()

    def __init__(self, exporter: Exporter, send_file: SendFile) -> None:
        self._exporter = exporter
        self._send_file = send_file

    @routes.post(
        "/api/v1/exports/raw",
        ADMIN,
        limit=_LIMIT,
        body=WantedExport,
        also=(
            Described(200, ZIP, None, "The whole competition, as an archive that CTFd can import."),
            Described(200, CSV, None, "One table, or one report."),
        ),
    )
    async def raw(self, call: Call) -> Answer:
        """Download the whole competition, or one table or report as CSV."""
        wanted = call.body(WantedExport)
        if wanted.type != "csv":
            return await self._archive(call)
        name = wanted.args.get("table") if isinstance(wanted.args, dict) else None
        if not name:
            raise Invalid(args="Missing table to export")
        if not isinstance(name, str) or find_sheet(name) is None:
            raise Invalid(args=_unknown(name))
        return await self._sheet(name, sheet_name(call.competition.name, name, call.now))

    @routes.get("/admin/export", ADMIN, limit=_LIMIT)
    async def download(self, call: Call) -> Answer:
        """The whole competition, by its address."""
        return await self._archive(call)

    @routes.post("/admin/export", ADMIN, limit=_LIMIT)
    async def ask(self, call: Call) -> Answer:
        """The whole competition, by a form."""
        return await self._archive(call)

    @routes.get("/admin/export/csv", ADMIN, limit=_LIMIT)
    async def table(self, call: Call) -> Answer:
        """The table or report that the query names."""
        # A plus sign that was not written out in the address has become a blank, which no name holds.
        name = (call.argument("table") or "").replace(" ", "+")
        if not name:
            raise Invalid(table=["Missing table to export"])
        if find_sheet(name) is None:
            raise NotFound(_unknown(name))
        return await self._sheet(name, sheet_name(call.competition.name, name))

    async def _archive(self, call: Call) -> Answer:
        written = await reached(self._exporter.archive(call.now))
        return self._download(written, ZIP, archive_name(call.competition.name, call.now))

    async def _sheet(self, sheet: str, name: str) -> Answer:
        return self._download(await self._exporter.sheet(sheet), CSV, name)

    def _download(self, written: Written, content_type: str, name: str) -> Answer:
        sending = self._send_file(written.file, written.size)
        headers = ((b"Content-Disposition", disposition(name).encode("ascii")), (b"Cache-Control", b"no-cache"))
        return StreamedAnswer(
            b"", 200, content_type, headers, length=written.size, send=sending.send, drop=sending.close
        )


def _unknown(name: object) -> str:
    return f"There is no table or report called {str(name)[:_SAID]!r}"
