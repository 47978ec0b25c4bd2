"""The competition's own pages as administrators make, change, find and remove them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.content.tables import comments, pages
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound

Text = str | UnsetType | None
Flag = bool | UnsetType | None

#: How long each may be, in characters.
LONGEST: Final[Mapping[str, int]] = {"title": 80, "route": 128, "content": 65_535}
#: Where a page may be opened from the menu; none is where the browser is.
_LINK_TARGETS: Final = frozenset({None, "_self", "_blank"})

_NEW: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("title", "route", "content", "draft", "hidden", "auth_required", "link_target")),
    "format": "markdown",
}


class PageFields(msgspec.Struct, frozen=True):
    """What POST and PATCH take; a ``format`` other than ``html`` is Markdown."""

    title: Text = UNSET
    route: Text = UNSET
    content: Text = UNSET
    draft: Flag = UNSET
    hidden: Flag = UNSET
    auth_required: Flag = UNSET
    format: Annotated[str, Meta(max_length=80)] | UnsetType | None = UNSET
    link_target: Text = UNSET


class PageFilter(msgspec.Struct, frozen=True):
    """Which pages are asked for."""

    id: int | UnsetType = UNSET
    title: str | UnsetType = UNSET
    route: str | UnsetType = UNSET
    draft: bool | UnsetType = UNSET
    hidden: bool | UnsetType = UNSET
    auth_required: bool | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["title", "route", "content"] | UnsetType = UNSET


class PageListed(TypedDict):
    """A page without its content; ``files`` are ids, flags may be null in old rows."""

    id: int
    title: str | None
    route: str | None
    draft: bool | None
    hidden: bool | None
    auth_required: bool | None
    format: str | None
    link_target: str | None
    files: list[int]


class PageShown(PageListed):
    """A page with its content, Markdown or HTML as ``format`` says."""

    content: str | None


def list_pages(conn: Connection, wanted: PageFilter) -> list[PageListed]:
    """All pages that *wanted* describes, by id, without their content."""
    columns = [column for column in pages.c if column.name != "content"]
    rows = conn.execute(matching(select(*columns), pages, wanted).order_by(pages.c.id)).all()
    attached = _files_of(conn, [row.id for row in rows])
    return [_listed(row, attached.get(row.id, [])) for row in rows]


def read_page(conn: Connection, page_id: int) -> PageShown:
    """One page. Raises ``NotFound``."""
    row = conn.execute(select(pages).where(pages.c.id == page_id)).first()
    if row is None:
        raise NotFound
    return {**_listed(row, _files_of(conn, [page_id]).get(page_id, [])), "content": row.content}


def create_page(conn: Connection, fields: PageFields) -> PageShown:
    """Make a page; raises ``Invalid`` that names every wrong field, and for a route that another page has."""
    with _route_is_free(conn):
        page_id = insert_row(conn, pages, {**_NEW, **_columns(fields)})
    touch(conn, "pages")
    return read_page(conn, page_id)


def update_page(conn: Connection, page_id: int, fields: PageFields) -> PageShown:
    """Change what *fields* names; raises ``NotFound``, else as ``create_page``."""
    columns = _columns(fields)
    if columns:
        with _route_is_free(conn):
            conn.execute(update(pages).where(pages.c.id == page_id).values(**columns))
        touch(conn, "pages")
    return read_page(conn, page_id)


def delete_page(conn: Connection, page_id: int) -> None:
    """Remove a page with its comments; its files stay, of no page. Raises ``NotFound``."""
    conn.execute(update(files).where(files.c.page_id == page_id).values(page_id=None))
    conn.execute(delete(comments).where(comments.c.page_id == page_id))
    if not conn.execute(delete(pages).where(pages.c.id == page_id)).rowcount:
        raise NotFound
    touch(conn, "pages")


def _columns(fields: PageFields) -> dict[str, Any]:
    """The columns that *fields* names, checked."""
    columns = given(fields)
    if (columns.get("route") or "").startswith("/"):
        columns["route"] = columns["route"].strip("/")
    errors: dict[str, list[str] | str] = {
        name: [f"Page could not be saved. Your {name} is too long."]
        for name, most in LONGEST.items()
        if len(columns.get(name) or "") > most
    }
    if columns.get("link_target") not in _LINK_TARGETS:
        errors["link_target"] = ["Invalid link target"]
    if errors:
        raise Invalid(errors)
    return columns


@contextmanager
def _route_is_free(conn: Connection) -> Iterator[None]:
    try:
        with conn.begin_nested():
            yield
    except IntegrityError:
        raise Invalid(route=["Page could not be saved. Your route is already in use."]) from None


def _files_of(conn: Connection, page_ids: list[int]) -> dict[int, list[int]]:
    """The ids of the files that are attached to each page."""
    found: dict[int, list[int]] = {}
    attached = select(files.c.id, files.c.page_id).where(files.c.page_id.in_(page_ids)).order_by(files.c.id)
    for row in conn.execute(attached):
        found.setdefault(row.page_id, []).append(row.id)
    return found


def _listed(row: Row[Any], attached: list[int]) -> PageListed:
    return {
        "id": row.id,
        "title": row.title,
        "route": row.route,
        "draft": row.draft,
        "hidden": row.hidden,
        "auth_required": row.auth_required,
        "format": row.format,
        "link_target": row.link_target,
        "files": attached,
    }
