"""Comments, which administrators leave for each other at a challenge, a user, a team or a page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Row, Select, delete, func, select
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.content.tables import comments
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound

#: What a comment may be about, each with a column of its id; of several that a body names the first counts.
KINDS: Final = ("challenge", "user", "team", "page")
#: What a comment about none of these is.
STANDARD: Final = "standard"


class NewComment(msgspec.Struct, frozen=True):
    """What POST takes; ``type``, where it is given, says the same as the id."""

    content: str
    type: str | None = None
    challenge_id: int | None = None
    user_id: int | None = None
    team_id: int | None = None
    page_id: int | None = None


class CommentFilter(msgspec.Struct, frozen=True):
    """Which comments are asked for: those about one thing."""

    challenge_id: int | UnsetType = UNSET
    user_id: int | UnsetType = UNSET
    team_id: int | UnsetType = UNSET
    page_id: int | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["content"] | UnsetType = UNSET


class Comment(msgspec.Struct, frozen=True):
    """One comment; ``content`` is Markdown. Who wrote it is ``None`` where that is not known any more."""

    id: int
    type: str
    content: str | None
    date: datetime | None
    author_id: int | None
    author_name: str | None


class Found(NamedTuple):
    """One page of comments, newest first, and how many there are in all."""

    items: tuple[Comment, ...]
    total: int


def list_comments(conn: Connection, wanted: CommentFilter, offset: int, limit: int) -> Found:
    """*limit* of the comments that *wanted* describes, after the first *offset*; raises ``Invalid`` for two things."""
    if len(given(wanted).keys() & {f"{kind}_id" for kind in KINDS}) > 1:
        raise Invalid({"": ["Only one of challenge_id, user_id, team_id and page_id can be asked for"]})
    total = conn.scalar(matching(select(func.count()).select_from(comments), comments, wanted))
    page = matching(_comments(), comments, wanted).order_by(comments.c.id.desc()).offset(offset).limit(limit)
    return Found(tuple(map(_comment, conn.execute(page))), total or 0)


def create_comment(conn: Connection, now: datetime, author_id: int, new: NewComment) -> Comment:
    """Leave a comment; raises ``Invalid`` for a type that is not what it is about, and where that does not exist."""
    kind = next((kind for kind in KINDS if getattr(new, f"{kind}_id") is not None), STANDARD)
    if new.type not in {None, kind}:
        raise Invalid(type=[f"A comment about this is of the type {kind}"])
    columns = {**{f"{name}_id": None for name in KINDS}, "type": kind, "content": new.content, "date": now}
    column = f"{kind}_id"
    if kind != STANDARD:
        columns[column] = getattr(new, column)
    try:
        with conn.begin_nested():
            comment_id = insert_row(conn, comments, {**columns, "author_id": author_id})
    except IntegrityError:
        raise Invalid({column: [f"There is no such {kind}"]}) from None
    return _comment(conn.execute(_comments().where(comments.c.id == comment_id)).one())


def delete_comment(conn: Connection, comment_id: int) -> None:
    """Remove a comment, whoever wrote it. Raises ``NotFound``."""
    if not conn.execute(delete(comments).where(comments.c.id == comment_id)).rowcount:
        raise NotFound


def _comments() -> Select[Any]:
    return select(comments, users.c.name.label("author_name")).outerjoin(users, users.c.id == comments.c.author_id)


def _comment(row: Row[Any]) -> Comment:
    return Comment(row.id, row.type or STANDARD, row.content, row.date, row.author_id, row.author_name)
