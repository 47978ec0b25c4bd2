"""Notifications as everybody reads them."""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.content.tables import notifications


class Notice(msgspec.Struct, frozen=True):
    """One notification; ``content`` is Markdown."""

    id: int
    title: str
    content: str
    date: datetime | None


def read_notices(conn: Connection) -> tuple[Notice, ...]:
    """Every notification, newest first; one that names a user or a team is not for everybody, and left out."""
    rows = conn.execute(
        select(notifications)
        .where(notifications.c.user_id.is_(None), notifications.c.team_id.is_(None))
        .order_by(notifications.c.id.desc())
    )
    return tuple(Notice(row.id, row.title or "", row.content or "", row.date) for row in rows)
