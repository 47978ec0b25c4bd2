"""The administrators' page of exports."""

from __future__ import annotations

from collections.abc import Callable

from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.sheets import sheet_names
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.pages import Pages


class AdminBackupPages:
    """``/admin/backup``; what it leads to are downloads. *under_way* is the archive that is being written."""

    routes = Routes()

    def __init__(self, pages: Pages, under_way: Callable[[], Progress | None]) -> None:
        self._pages = pages
        self._under_way = under_way

    @routes.get("/admin/backup", ADMIN)
    def backup(self, call: Call) -> Answer:
        """A button for the archive, a link for each CSV file."""
        reports, tables = sheet_names()
        return self._pages.render(
            call, "admin/backup.html", reports=reports, tables=tables, under_way=self._under_way()
        )
