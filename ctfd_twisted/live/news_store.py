"""What has happened since a node looked last, ready to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, or_, select

from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.notices_store import Delivery, notice_readout
from ctfd_twisted.content.tables import notifications
from ctfd_twisted.http.answers import encode
from ctfd_twisted.live.frames import frame

#: So many are told at once; whoever adds more has imported them, and nobody wants to see all of them pop up.
_MOST: Final = 50
_DEFAULT: Final = Delivery()


class News(NamedTuple):
    """Frames in the order of what they tell; ``last`` is the highest id that a notification has."""

    last: int
    frames: tuple[bytes, ...]


def read_news(conn: Connection, seen: int | None, announced: Mapping[int, Delivery]) -> News:
    """The notifications *announced*, and those with ids above *seen*, which another program has added.

    With a *seen* of None the node has just begun, and nothing that is there already is news.
    """
    last = conn.execute(select(func.coalesce(func.max(notifications.c.id), 0))).scalar_one()
    if not announced and (seen is None or last <= seen):
        return News(last, ())
    newer = notifications.c.id > (last if seen is None else seen)
    news = select(notifications).where(or_(newer, notifications.c.id.in_(list(announced)))).order_by(notifications.c.id)
    competition = read_competition(conn)
    frames = []
    for row in conn.execute(news.limit(_MOST)):
        how = announced.get(row.id, _DEFAULT)
        shown = {**notice_readout(row, competition), "type": how.type, "sound": how.sound}
        frames.append(frame("notification", encode(shown)))
    return News(last, tuple(frames))
