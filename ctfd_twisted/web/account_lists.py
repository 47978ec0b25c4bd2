"""The public lists of users and teams."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import Connection

from ctfd_twisted.accounts.countries import COUNTRIES
from ctfd_twisted.accounts.newcomers import LIST_TOPICS
from ctfd_twisted.accounts.profiles import PAGE_SIZE, AccountFilter, list_teams, list_users
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.pagination import Page, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.frames import Html
from ctfd_twisted.web.pages import Pages

_SEARCHABLE: Final = ("name", "affiliation", "website")
#: So many pages of the lists are kept, and so many bytes of them.
_KEPT: Final = 1000
_ROOM: Final = 16 * 2**20


class _Asked(NamedTuple):
    """Which page of which list is asked for; *root* begins its links."""

    noun: Literal["player", "team"]
    wanted: AccountFilter
    page: Page
    root: str


class AccountLists:
    """``/users`` and ``/teams``: the same for everybody who may see them, so each page is drawn once."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._pages = pages
        self._drawn = KeyedSnapshots(
            db, db.bus, self._draw, LIST_TOPICS, limit=_KEPT, weigh=lambda html: len(html.body), room=_ROOM
        )

    @routes.get("/users", ACCOUNTS_VISIBLE)
    async def users(self, call: Call) -> Answer:
        """Everybody who is neither hidden nor banned, in pages of 50."""
        return await self._show(call, "player")

    @routes.get("/teams", TEAMS_MODE, ACCOUNTS_VISIBLE)
    async def teams(self, call: Call) -> Answer:
        """Every team that is neither hidden nor banned, in pages of 50."""
        return await self._show(call, "team")

    async def _show(self, call: Call, noun: Literal["player", "team"]) -> Answer:
        field = call.argument("field")
        wanted = AccountFilter(q=call.argument("q") or None, field=field if field in _SEARCHABLE else "name")
        asked = _Asked(noun, wanted, asked_page(call.argument("page"), size=PAGE_SIZE), call.url(""))
        drawn = self._drawn.ready(asked) or await self._drawn.get(asked)
        heading = _heading(noun)
        return self._pages.around(call, "around.html", (heading,), drawn, heading=heading, width="")

    def _draw(self, conn: Connection, asked: _Asked) -> Html:
        read = list_users if asked.noun == "player" else list_teams
        wanted, page = asked.wanted, asked.page
        found = read(conn, wanted, page.number)
        base = "/users" if asked.noun == "player" else "/teams"
        query = f"{urlencode({'field': wanted.field, 'q': wanted.q})}&" if wanted.q else ""
        return self._pages.drawn(
            "parts/accounts.html",
            asked.root,
            heading=_heading(asked.noun),
            noun=asked.noun,
            base=base,
            pager_path=f"{base}?{query}",
            accounts=found.items,
            page=page.meta(found.total)["pagination"],
            country_names=COUNTRIES,
            search=wanted.q or "",
            search_field=wanted.field,
        )


def _heading(noun: str) -> str:
    return "Users" if noun == "player" else "Teams"
