"""The first page of administrators."""

from __future__ import annotations

from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.overview_reads import read_overview
from ctfd_twisted.web.pages import Pages


class AdminOverviewPages:
    """``/admin`` and ``/admin/statistics``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/admin", ANYONE)
    def admin(self, call: Call) -> Answer:
        """The way in: to the first page for administrators, to the login for everybody else."""
        return redirect(call.url("/admin/statistics" if call.is_admin else "/login"))

    @routes.get("/admin/statistics", ADMIN)
    async def statistics(self, call: Call) -> Answer:
        """Counts, what was solved how often, and what needs attention."""
        overview = await self._db.read(read_overview, call.competition)
        return self._pages.render(call, "admin/statistics.html", overview=overview)
