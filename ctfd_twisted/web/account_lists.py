"""The public lists of users and teams."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from ctfd_twisted.accounts.countries import COUNTRIES
from ctfd_twisted.accounts.profiles import PAGE_SIZE, AccountFilter, list_teams, list_users
from ctfd_twisted.accounts.records import Listing
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.pagination import Page, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.pages import Pages

_SEARCHABLE: Final = ("name", "affiliation", "website")


class AccountLists:
    """``/users`` and ``/teams``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/users", ACCOUNTS_VISIBLE)
    async def users(self, call: Call) -> Answer:
        """Everybody who is neither hidden nor banned, in pages of 50."""
        page, wanted = _asked(call)
        return self._show(call, page, wanted, await self._db.read(list_users, wanted, page.number), "player")

    @routes.get("/teams", TEAMS_MODE, ACCOUNTS_VISIBLE)
    async def teams(self, call: Call) -> Answer:
        """Every team that is neither hidden nor banned, in pages of 50."""
        page, wanted = _asked(call)
        return self._show(call, page, wanted, await self._db.read(list_teams, wanted, page.number), "team")

    def _show(self, call: Call, page: Page, wanted: AccountFilter, found: Listing[Any], noun: str) -> Answer:
        base = "/users" if noun == "player" else "/teams"
        query = f"{urlencode({'field': wanted.field, 'q': wanted.q})}&" if wanted.q else ""
        return self._pages.render(
            call,
            "users.html",
            heading="Users" if noun == "player" else "Teams",
            noun=noun,
            base=base,
            pager_path=f"{base}?{query}",
            accounts=found.items,
            page=page.meta(found.total)["pagination"],
            country_names=COUNTRIES,
            search=wanted.q or "",
            search_field=wanted.field,
        )


def _asked(call: Call) -> tuple[Page, AccountFilter]:
    field = call.argument("field")
    wanted = AccountFilter(q=call.argument("q") or None, field=field if field in _SEARCHABLE else "name")
    return asked_page(call.argument("page"), size=PAGE_SIZE), wanted
