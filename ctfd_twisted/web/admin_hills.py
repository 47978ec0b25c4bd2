"""The administrators' pages of hills. What they change goes through the REST API."""

from __future__ import annotations

from typing import Any, Final, get_args

from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.koth.rules import FAILED, Outcome
from ctfd_twisted.web.hill_reads import read_hill_list, read_hill_page
from ctfd_twisted.web.pages import Pages

_PAGE_SIZE: Final = 50
_OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)


class AdminHillPages:
    """``/admin/koth`` and what lies below it."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/admin/koth", ADMIN)
    async def all(self, call: Call) -> Answer:
        """Every hill with how its last ticks went."""
        lines, failing = await self._db.read(read_hill_list, call.competition)
        return self._pages.render(call, "admin/koth.html", lines=lines, failing=failing, failed=FAILED)

    @routes.get("/admin/koth/new", ADMIN)
    def new(self, call: Call) -> Answer:
        """A form for one more hill."""
        fields = _fields()
        values = {field.name: field.default for field in fields}
        return self._pages.render(
            call, "admin/hill.html", hill=None, fields=fields, values={**values, "state": "hidden"}
        )

    @routes.get("/admin/koth/<int:challenge_id>", ADMIN)
    async def one(self, call: Call, challenge_id: int) -> Answer:
        """One hill: its settings, a probe, and every tick with its evidence."""
        asked = call.argument("outcome")
        outcome = asked if asked in _OUTCOMES else None
        page = asked_page(call.argument("page"), size=_PAGE_SIZE)
        found = await self._db.read(read_hill_page, call.competition, challenge_id, outcome, page.offset, page.size)
        return self._pages.render(
            call,
            "admin/hill.html",
            hill=found.hill,
            fields=_fields(),
            values=found.values,
            ticks=found.ticks,
            voids=found.voids,
            outcomes=_OUTCOMES,
            failed=FAILED,
            chosen_outcome=outcome or "",
            page=page.meta(found.total)["pagination"],
            pager_path=f"/admin/koth/{challenge_id}?" + (f"outcome={outcome}&" if outcome else ""),
        )


def _fields() -> Any:
    return challenge_types()["koth"].form_fields
