"""The competition's own words: its pages by route, the start page, notifications, terms and privacy."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup
from sqlalchemy import Connection

from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content import notices_store
from ctfd_twisted.content.public_notifications import read_notices
from ctfd_twisted.content.public_pages import TOPICS, PublicPages, read_public_pages
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.frames import Html, NoncedHtml
from ctfd_twisted.web.markdown import rendered, rendered_html
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.texts import web_link

#: So many bytes of drawn pages are kept.
_ROOM: Final = 16 * 2**20


class CustomPages:
    """Pages that administrators wrote. Real routes win over them, so they are asked for last (``fallback``).

    What they wrote is made into HTML once, in a thread, and again after a commit that changes it.
    """

    routes = Routes()

    def __init__(self, db: Database, public_pages: Snapshot[PublicPages], pages: Pages) -> None:
        self._public_pages = public_pages
        self._pages = pages
        self._texts = KeyedSnapshots(db, db.bus, _read_text, TOPICS, weigh=lambda html: html.weight, room=_ROOM)
        self._legal_texts = KeyedSnapshots(db, db.bus, _read_legal_text, ("config",))
        self._notices = KeyedSnapshots(db, db.bus, self._draw_notices, notices_store.TOPICS, limit=1)

    async def fallback(self, call: Call, path: str) -> Answer:
        """The page at *path*, the start page for the empty one; raises ``NotFound``."""
        found = self._public_pages.ready() or await self._public_pages.get()
        page = found.by_route.get(path or "index")
        if page is None:
            raise NotFound
        if page.auth_required:
            call.require_player()
        html = self._texts.ready(page.route) or await self._texts.get(page.route)
        return self._pages.custom(call, page.title, html)

    @routes.get("/tos", ANYONE)
    async def terms(self, call: Call) -> Answer:
        """The terms of service: elsewhere, or a text here."""
        return await self._legal(call, "tos", "Terms of service")

    @routes.get("/privacy", ANYONE)
    async def privacy(self, call: Call) -> Answer:
        """The privacy policy: elsewhere, or a text here."""
        return await self._legal(call, "privacy", "Privacy policy")

    @routes.get("/notifications", ANYONE)
    async def notifications(self, call: Call) -> Answer:
        """What the organisers had to say, newest first."""
        root = call.url("")
        drawn = self._notices.ready(root) or await self._notices.get(root)
        return self._pages.around(call, "around.html", (), drawn, heading="Notifications", width="reading")

    async def _legal(self, call: Call, key: str, title: str) -> Answer:
        elsewhere = web_link(call.competition.text(f"{key}_url"))
        if elsewhere:
            return redirect(elsewhere)
        if not call.competition.text(f"{key}_text"):
            raise NotFound
        html = self._legal_texts.ready(key) or await self._legal_texts.get(key)
        return self._pages.custom(call, title, html)

    def _draw_notices(self, conn: Connection, root: str) -> Html:
        competition = read_competition(conn)
        notices = [
            (notice, Markup(rendered(notice.content, competition)))  # noqa: S704 - administrators' text
            for notice in read_notices(conn)
        ]
        return self._pages.drawn("parts/notifications.html", root, notices=notices)


def _read_text(conn: Connection, route: str) -> NoncedHtml:
    """The page at *route*; it is gone by now where it is not found."""
    page = read_public_pages(conn).by_route.get(route)
    if page is None:
        raise NotFound
    show = rendered_html if page.format == "html" else rendered
    return NoncedHtml(show(page.content, read_competition(conn)))


def _read_legal_text(conn: Connection, key: str) -> NoncedHtml:
    competition = read_competition(conn)
    return NoncedHtml(rendered(competition.text(f"{key}_text"), competition))
