"""The custom pages as the public sees them: which there are, and which stand in the menu."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.content.tables import pages

#: Topics of the bus after which pages may look different; whoever changes one touches ``pages``.
TOPICS = ("pages", "config")


class PublicPage(msgspec.Struct, frozen=True):
    """One page that is no draft. A *route* that begins with ``http`` is a link to elsewhere and has no page here."""

    id: int
    title: str
    route: str
    content: str = ""
    format: str = "markdown"
    hidden: bool = False
    auth_required: bool = False
    link_target: str | None = None

    @property
    def is_link(self) -> bool:
        """Whether the menu leads away from here."""
        return self.route.startswith("http")


class PublicPages(msgspec.Struct, frozen=True):
    """All of them by route, and those of the menu in the order in which they were made."""

    by_route: Mapping[str, PublicPage] = {}
    menu: tuple[PublicPage, ...] = ()


def read_public_pages(conn: Connection) -> PublicPages:
    """Every page that is not a draft; where a flag is NULL the page is neither draft nor hidden."""
    rows = conn.execute(
        select(pages).where(pages.c.draft.is_not(True), pages.c.route.is_not(None)).order_by(pages.c.id)
    )
    found = [
        PublicPage(
            id=row.id,
            title=row.title or "",
            route=row.route if row.route.startswith("http") else row.route.strip("/"),
            content=row.content or "",
            format=row.format or "markdown",
            hidden=bool(row.hidden),
            auth_required=bool(row.auth_required),
            link_target=row.link_target or None,
        )
        for row in rows
    ]
    return PublicPages(
        by_route={page.route: page for page in found if not page.is_link},
        menu=tuple(page for page in found if not page.hidden and page.route != "index"),
    )
