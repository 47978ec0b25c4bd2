"""Notifications as everybody reads them by the API, and as administrators make and remove them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, func, select
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.tables import notifications
from ctfd_twisted.db.columns import matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Malformed, NotFound
from ctfd_twisted.http.dates import iso
from ctfd_twisted.web.markdown import rendered
from ctfd_twisted.webhooks.store import advance

#: Topics of the bus after which notifications may read differently.
TOPICS = ("notifications", "config", "accounts")
_ANNOUNCED = "notification"


class Delivery(msgspec.Struct, frozen=True):
    """How clients are asked to show a notification; it is told with it and stored nowhere."""

    type: str = "alert"
    sound: bool = True


class NoticeFields(msgspec.Struct, frozen=True):
    """What POST takes; ``content`` is Markdown. ``type`` and ``sound`` are as in :class:`Delivery`."""

    title: str | None = None
    content: str | None = None
    user_id: int | None = None
    team_id: int | None = None
    type: Annotated[str, Meta(max_length=32)] = "alert"
    sound: bool = True


class NoticeFilter(msgspec.Struct, frozen=True):
    """Which notifications are asked for; with a ``since_id`` other than 0, those with larger ids alone."""

    title: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    user_id: int | UnsetType = UNSET
    team_id: int | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["title", "content"] | UnsetType = UNSET
    since_id: int | UnsetType = UNSET


class NoticeShown(TypedDict):
    """A notification; ``user`` and ``team`` repeat the ids, ``date`` has an offset.

    ``content`` is Markdown and ``html`` what it says; without the one there is not the other.
    """

    id: int
    title: str | None
    content: str | None
    html: NotRequired[str]
    date: str | None
    user_id: int | None
    team_id: int | None
    user: int | None
    team: int | None


class NoticeTold(NoticeShown):
    """A notification as it is made and told at ``/events``, with how clients are asked to show it."""

    type: str
    sound: bool


def list_notices(conn: Connection, wanted: NoticeFilter) -> list[NoticeShown]:
    """The notifications that *wanted* describes, oldest first. Whom one names is no matter: all are for everybody."""
    plain = msgspec.structs.replace(wanted, since_id=UNSET)
    statement = matching(select(notifications), notifications, plain).order_by(notifications.c.id)
    if wanted.since_id:
        statement = statement.where(notifications.c.id > wanted.since_id)
    competition = read_competition(conn)
    return [notice_readout(row, competition) for row in conn.execute(statement)]


def count_notices(conn: Connection, wanted: NoticeFilter) -> int:
    """How many there are."""
    plain = msgspec.structs.replace(wanted, since_id=UNSET)
    statement = matching(select(func.count()).select_from(notifications), notifications, plain)
    if wanted.since_id:
        statement = statement.where(notifications.c.id > wanted.since_id)
    return conn.execute(statement).scalar_one()


def read_notice(conn: Connection, notice_id: int) -> NoticeShown:
    """One notification. Raises ``NotFound``."""
    row = conn.execute(select(notifications).where(notifications.c.id == notice_id)).first()
    if row is None:
        raise NotFound
    return notice_readout(row, read_competition(conn))


def create_notice(conn: Connection, now: datetime, fields: NoticeFields) -> NoticeTold:
    """Make a notification and announce it to whoever listens; raises ``Malformed`` for an unknown user or team."""
    # Ids in the order of commits: who was told of one was told of all before it.
    advance(conn, 0)
    columns = {name: getattr(fields, name) for name in ("title", "content", "user_id", "team_id")}
    try:
        with conn.begin_nested():
            notice_id = insert_row(conn, notifications, {**columns, "date": now})
    except IntegrityError:
        raise Malformed("There is no such user or team") from None
    touch(conn, "notifications", announcement(notice_id, Delivery(fields.type, fields.sound)))
    return {**read_notice(conn, notice_id), "type": fields.type, "sound": fields.sound}


def delete_notice(conn: Connection, notice_id: int) -> None:
    """Remove a notification. Raises ``NotFound``."""
    if not conn.execute(delete(notifications).where(notifications.c.id == notice_id)).rowcount:
        raise NotFound
    touch(conn, "notifications")


def announcement(notice_id: int, delivery: Delivery) -> str:
    """The topic that tells all nodes of a new notification, with what is stored nowhere."""
    return f"{_ANNOUNCED}:{notice_id}:{int(delivery.sound)}:{delivery.type}"


def announced(topic: str) -> tuple[int, Delivery] | None:
    """What such a topic says; None for another topic."""
    word, _, rest = topic.partition(":")
    if word != _ANNOUNCED:
        return None
    notice_id, sound, type_ = rest.split(":", 2)
    return int(notice_id), Delivery(type_, sound == "1")


def notice_readout(row: Row[Any], competition: Competition) -> NoticeShown:
    """One notification as everybody reads it; one without content has no HTML either."""
    shown: NoticeShown = {
        "id": row.id,
        "title": row.title,
        "content": row.content,
        "date": iso(row.date),
        "user_id": row.user_id,
        "team_id": row.team_id,
        "user": row.user_id,
        "team": row.team_id,
    }
    if row.content is not None:
        shown["html"] = rendered(row.content, competition)
    return shown
