"""Notifications and hills as they are now, ready to be told."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select

from ctfd_twisted.challenges.rules import Reach, Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.notices_store import NoticeShown, notice_readout
from ctfd_twisted.content.tables import notifications
from ctfd_twisted.http.answers import encode
from ctfd_twisted.http.dates import iso
from ctfd_twisted.koth.boards import Hill, read_hills
from ctfd_twisted.live.frames import frame
from ctfd_twisted.live.views import View, sights

#: So many are told at once; whoever adds more has imported them, and nobody wants to see all of them pop up.
KEPT: Final = 50


class NoticeKey(NamedTuple):
    """Which notification; ``mark`` tells it from another that was given its id after it was removed."""

    id: int
    mark: str


class HillTold(NamedTuple):
    """One hill, as JSON."""

    challenge_id: int
    data: bytes


def read_notices(conn: Connection, known: Container[NoticeKey]) -> Mapping[NoticeKey, NoticeShown | None]:
    """The newest notifications, the oldest of them first; None for what is *known*, whose Markdown is drawn already."""
    newest = select(notifications.c.id, notifications.c.date).order_by(notifications.c.id.desc()).limit(KEPT)
    keys = [NoticeKey(row.id, _mark(row.date)) for row in conn.execute(newest)][::-1]
    new = [key.id for key in keys if key not in known]
    competition = read_competition(conn)
    rows = conn.execute(select(notifications).where(notifications.c.id.in_(new))) if new else ()
    shown = {row.id: notice_readout(row, competition) for row in rows}
    return {key: shown.get(key.id) for key in keys}


def _mark(date: datetime | None) -> str:
    return "0" if date is None else f"{int(date.timestamp() * 1_000_000) & 0xFFFFFFFF:x}"


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
    known = _open_challenges(conn, now, challenge_ids)
    return tuple(
        frame("koth", encode({"challenge_id": hill.challenge_id}))
        for hill in read_hills(conn, teams_mode=competition.teams)
        if hill.challenge_id in known and (hill.king is None or hill.listed)
    )


def read_hill_states(conn: Connection, now: datetime) -> Mapping[View, tuple[HillTold, ...] | None]:
    """Every hill with its king, as each view may see them at *now*; None where it may see none."""
    competition = read_competition(conn)
    found = read_hills(conn, teams_mode=competition.teams)
    known = _open_challenges(conn, now, [hill.challenge_id for hill in found])
    return {
        view: tuple(
            HillTold(hill.challenge_id, encode(_shown(hill, view)))
            for hill in found
            if view is View.ADMIN or hill.challenge_id in known
        )
        if sight.hills
        else None
        for view, sight in sights(competition, now).items()
    }


def _shown(hill: Hill, view: View) -> dict[str, Any]:
    king = hill.king if view is View.ADMIN or hill.listed else None
    return {
        "challenge_id": hill.challenge_id,
        "name": hill.name,
        "king": None if king is None else {"id": king.id, "name": king.name, "type": king.type},
        "since": None if king is None else iso(hill.since),
    }


def _open_challenges(conn: Connection, now: datetime, challenge_ids: Collection[int]) -> frozenset[int]:
    """Those of *challenge_ids* that are open to somebody who has solved nothing and is in no audience."""
    rows = conn.execute(select(challenges).where(challenges.c.id.in_(challenge_ids))) if challenge_ids else ()
    gates = [gate_of(row) for row in rows]
    return frozenset(gate.id for gate in gates if reach(gate, now, Viewer(), gate.prerequisites) is Reach.OPEN)
