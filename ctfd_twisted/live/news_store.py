"""What has happened since a node looked last, ready to be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, or_, select

from ctfd_twisted.challenges.rules import Reach, Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.notices_store import Delivery, notice_readout
from ctfd_twisted.content.tables import notifications
from ctfd_twisted.http.answers import encode
from ctfd_twisted.koth.boards import read_hills
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


def read_kings(conn: Connection, now: datetime, challenge_ids: Collection[int]) -> tuple[bytes, ...]:
    """That these hills have changed hands, where everybody who is logged in may know of it.

    Nothing is told of a hill that not all players see, of a king who is hidden, outside of the competition's time, and
    from the freeze on. Who it is stands in no frame: whoever wants to know asks the API, which knows whom it answers.
    """
    competition = read_competition(conn)
    seen = (competition.sees_challenges, competition.sees_scores, competition.sees_accounts)
    if competition.frozen(now) or not competition.running(now):
        return ()
    if not all(sees(logged_in=True, is_admin=False) for sees in seen):
        return ()
    wanted = select(challenges).where(challenges.c.id.in_(challenge_ids))
    known = {row.id for row in conn.execute(wanted) if _is_open(row, now)}
    return tuple(
        frame("koth", encode({"challenge_id": hill.challenge_id}))
        for hill in read_hills(conn, teams_mode=competition.teams)
        if hill.challenge_id in known and (hill.king is None or hill.listed)
    )


def _is_open(challenge: Any, now: datetime) -> bool:
    """Whether a challenge is open to somebody who has solved nothing and is in no audience."""
    gate = gate_of(challenge)
    return reach(gate, now, Viewer(), gate.prerequisites) is Reach.OPEN
