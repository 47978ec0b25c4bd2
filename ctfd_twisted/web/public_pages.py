"""The competition's own words: its pages by route, the start page, notifications, terms and privacy."""

from __future__ import annotations

from markupsafe import Markup

from ctfd_twisted.content.public_notifications import read_notices
from ctfd_twisted.content.public_pages import PublicPage, PublicPages
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.markdown import rendered, rendered_html
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.texts import web_link


class CustomPages:
    """Pages that administrators wrote. Real routes win over them, so they are asked for last (``fallback``)."""

    routes = Routes()

    def __init__(self, db: Database, public_pages: Snapshot[PublicPages], pages: Pages) -> None:
        self._db = db
        self._public_pages = public_pages
        self._pages = pages

    async def fallback(self, call: Call, path: str) -> Answer:
        """The page at *path*, the start page for the empty one; raises ``NotFound``."""
        found = await self._public_pages.get()
        page = found.by_route.get(path or "index")
        if page is None:
            raise NotFound
        if page.auth_required:
            call.require_player()
        return self._show(call, page)

    @routes.get("/tos", ANYONE)
    def terms(self, call: Call) -> Answer:
        """The terms of service: elsewhere, or a text here."""
        return self._legal(call, "tos", "Terms of service")

    @routes.get("/privacy", ANYONE)
    def privacy(self, call: Call) -> Answer:
        """The privacy policy: elsewhere, or a text here."""
        return self._legal(call, "privacy", "Privacy policy")

    @routes.get("/notifications", ANYONE)
    async def notifications(self, call: Call) -> Answer:
        """What the organisers had to say, newest first."""
        notices = await self._db.read(read_notices)
        texts = [Markup(rendered(notice.content, call.competition)) for notice in notices]  # noqa: S704 - administrators' text
        return self._pages.render(call, "notifications.html", notices=list(zip(notices, texts, strict=True)))

    def _legal(self, call: Call, key: str, title: str) -> Answer:
        elsewhere = web_link(call.competition.text(f"{key}_url"))
        if elsewhere:
            return redirect(elsewhere)
        text = call.competition.text(f"{key}_text")
        if not text:
            raise NotFound
        html = rendered(text, call.competition)
        return self._pages.custom(call, title, Markup(html))  # noqa: S704 - administrators' text

    def _show(self, call: Call, page: PublicPage) -> Answer:
        show = rendered_html if page.format == "html" else rendered
        html = show(page.content, call.competition)
        return self._pages.custom(call, page.title, Markup(html))  # noqa: S704 - administrators' text
