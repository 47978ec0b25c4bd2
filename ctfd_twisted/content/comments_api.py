"""``/api/v1/comments``, for administrators."""

from __future__ import annotations

from typing import Final, TypedDict

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.content import comments_store as store
from ctfd_twisted.content.comments_store import Comment
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import AskedPages, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.markdown import rendered_comment

_ALL: Final = "/api/v1/comments"
_PAGE_SIZE: Final = 20
_LARGEST_PAGE: Final = 100


class CommentAuthor(TypedDict):
    """Who has left a comment."""

    name: str | None


class CommentShown(TypedDict):
    """A comment; ``content`` is Markdown, ``html`` is sanitised, ``date`` has an offset."""

    id: int
    type: str
    content: str | None
    html: str
    date: str | None
    author_id: int | None
    author: CommentAuthor | None


class CommentsApi:
    """Comments."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=(store.CommentFilter, AskedPages), data=list[CommentShown], meta=Paged)
    async def list_comments(self, call: Call) -> Answer:
        """One page of the comments that the query describes, newest first: at most those about one thing."""
        wanted, asked = call.query(store.CommentFilter), call.query(AskedPages)
        page = asked_page(asked.page, asked.per_page, size=_PAGE_SIZE, most=_LARGEST_PAGE)
        found = await self._db.read(store.list_comments, wanted, page.offset, page.size)
        return ok([_shown(comment, call.competition) for comment in found.items], meta=page.meta(found.total))

    @routes.post(_ALL, ADMIN, body=store.NewComment, data=CommentShown)
    async def create(self, call: Call) -> Answer:
        """Leave a comment; its author is the caller."""
        author_id, new = call.require_player().id, call.body(store.NewComment)
        return ok(_shown(await self._db.run(store.create_comment, call.now, author_id, new), call.competition))

    @routes.delete(f"{_ALL}/<comment_id>", ADMIN, data=None)
    async def delete(self, call: Call, comment_id: str) -> Answer:
        """Remove a comment."""
        del call
        await self._db.run(store.delete_comment, row_id(comment_id))
        return done()


def _shown(comment: Comment, competition: Competition) -> CommentShown:
    return {
        "id": comment.id,
        "type": comment.type,
        "content": comment.content,
        "html": rendered_comment(comment.content, competition),
        "date": iso(comment.date),
        "author_id": comment.author_id,
        "author": None if comment.author_id is None else {"name": comment.author_name},
    }
