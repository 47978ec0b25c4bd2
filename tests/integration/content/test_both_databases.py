"""Pages and comments, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import Connection

from ctfd_twisted.content import comments_store, pages_store
from ctfd_twisted.content.comments_store import CommentFilter, NewComment
from ctfd_twisted.content.pages_store import PageFields, PageFilter
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.testing.builders import an_admin


def test_pages_and_comments_at_them(any_conn: Connection, now: datetime) -> None:
    conn, author = any_conn, an_admin(any_conn, name="root")
    page = pages_store.create_page(conn, PageFields(route="about", content="*us*", draft=False))
    other = pages_store.create_page(conn, PageFields(route="us"))
    for refused in (PageFields(route="us"), PageFields(route="/us/")):
        with pytest.raises(Invalid):
            pages_store.update_page(conn, page["id"], refused)
    assert [found["id"] for found in pages_store.list_pages(conn, PageFilter(draft=False))] == [page["id"]]
    made = comments_store.create_comment(conn, now, author, NewComment("x", page_id=page["id"]))
    assert (made.type, made.date, made.author_name) == ("page", now, "root")
    with pytest.raises(Invalid):
        comments_store.create_comment(conn, now, author, NewComment("x", team_id=999))
    wanted = CommentFilter(page_id=page["id"], q="x", field="content")
    assert comments_store.list_comments(conn, wanted, 0, 5) == ((made,), 1)
    pages_store.delete_page(conn, page["id"])
    assert comments_store.list_comments(conn, CommentFilter(), 0, 5) == ((), 0)
    assert [found["id"] for found in pages_store.list_pages(conn, PageFilter())] == [other["id"]]
    with pytest.raises(NotFound):
        comments_store.delete_comment(conn, made.id)
