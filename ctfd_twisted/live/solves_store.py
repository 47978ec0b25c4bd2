"""Solves as listeners are told of them, out of the log of events, which numbers them in the order of their commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, Table, func, select

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.rules import Reach, Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.http.answers import encode
from ctfd_twisted.live.views import Sight, View, sights
from ctfd_twisted.scoring.tables import solves
from ctfd_twisted.webhooks.events import FirstBloodCreated, Named, SolveCreated
from ctfd_twisted.webhooks.tables import events

#: So many are kept to be told to those who come back; who was away for more is told the newest anew.
KEPT: Final = 256
_SOLVE: Final = SolveCreated.NAME
_FIRST: Final = FirstBloodCreated.NAME
_LAST: Final = select(func.coalesce(func.max(events.c.seq), 0))
_decode: Final = msgspec.json.Decoder(SolveCreated).decode


class Told(NamedTuple):
    """One solve by its number in the log, as JSON for each view that may know of it."""

    seq: int
    data: Mapping[View, bytes]


class Solves(NamedTuple):
    """Solves, the oldest first: all with numbers above ``floor``.

    ``last`` is the number of the last event of any kind, ``sights`` what each view might see when these were read.
    """

    floor: int
    last: int
    solves: tuple[Told, ...]
    sights: Mapping[View, Sight]


class _Known(NamedTuple):
    """What the database says now of those whom solves name."""

    users: Mapping[int, Any]
    teams: Mapping[int, Any]
    challenges: Mapping[int, Any]
    open: frozenset[int]
    solves: frozenset[int]


def read_solves(conn: Connection, now: datetime, after: int) -> Solves:
    """The newest solves with numbers above *after*, as each view may know of them at *now*."""
    last = conn.execute(_LAST).scalar_one()
    wanted = (
        select(events.c.seq, events.c.event, events.c.body)
        .where(events.c.seq > after, events.c.seq <= last, events.c.event.in_((_SOLVE, _FIRST)))
        .order_by(events.c.seq.desc())
        .limit(2 * KEPT)
    )
    rows = [(row.seq, row.event, _decode(row.body)) for row in conn.execute(wanted)][::-1]
    firsts = {event.id for _, name, event in rows if name == _FIRST}
    found = [(seq, event) for seq, name, event in rows if name == _SOLVE]
    kept = found[-KEPT:]
    cut = len(rows) == 2 * KEPT or len(found) > len(kept)
    floor = kept[0][0] - 1 if cut and kept else after
    competition = read_competition(conn)
    seen = sights(competition, now)
    if not kept:
        return Solves(floor, last, (), seen)
    known = _look_up(conn, now, [event for _, event in kept])
    told = []
    for seq, event in kept:
        data = {
            view: encode(shown)
            for view, sight in seen.items()
            if (shown := _shown(event, known, sight, view, first=event.id in firsts, teams_mode=competition.teams))
        }
        if data:
            told.append(Told(seq, data))
    return Solves(floor, last, tuple(told), seen)


def _look_up(conn: Connection, now: datetime, found: Sequence[SolveCreated]) -> _Known:
    def rows(table: Table, numbers: Iterable[int | None], *columns: Any) -> dict[int, Any]:
        wanted = {number for number in numbers if number is not None}
        found = conn.execute(select(table.c.id, *columns).where(table.c.id.in_(wanted))) if wanted else ()
        return {row.id: row for row in found}

    named = {event.challenge_id for event in found}
    gates = {row.id: row for row in conn.execute(select(challenges).where(challenges.c.id.in_(named)))}
    anybody = Viewer()
    is_open = (gate_of(row) for row in gates.values())
    return _Known(
        users=rows(users, (_id(event.user) for event in found), *users.c["name", "hidden", "banned"]),
        teams=rows(teams, (_id(event.team) for event in found), *teams.c["name", "hidden", "banned"]),
        challenges=gates,
        # A prerequisite that is gone counts as none; which are, is not worth a question: then it is told without name.
        open=frozenset(gate.id for gate in is_open if reach(gate, now, anybody, gate.prerequisites) is Reach.OPEN),
        solves=frozenset(conn.execute(select(solves.c.id).where(solves.c.id.in_([e.id for e in found]))).scalars()),
    )


def _shown(
    event: SolveCreated, known: _Known, sight: Sight, view: View, *, first: bool, teams_mode: bool
) -> dict[str, Any] | None:
    """The solve as *view* may know of it; None where it may not at all, or an administrator took the solve away."""
    everything = view is View.ADMIN
    date = datetime.fromisoformat(event.date)
    if not sight.scores or event.id not in known.solves or (sight.until is not None and date >= sight.until):
        return None
    user = _listed(known.users, _id(event.user), everything=everything)
    team = _listed(known.teams, _id(event.team), everything=everything)
    account = team if teams_mode else user
    challenge = known.challenges.get(event.challenge_id) if sight.challenges else None
    if account is None:
        return None
    if challenge is not None and not everything and challenge.id not in known.open:
        challenge = None
    return {
        "id": event.id,
        "date": event.date,
        "account_id": account["id"],
        "user": user,
        "team": team,
        "challenge": challenge and {"id": challenge.id, "name": challenge.name, "category": challenge.category},
        "first_blood": first,
    }


def _id(named: Named | None) -> int | None:
    return None if named is None else named.id


def _listed(rows: Mapping[int, Any], number: int | None, *, everything: bool) -> dict[str, Any] | None:
    row = None if number is None else rows.get(number)
    if row is None or not (everything or (row.hidden is False and row.banned is False)):
        return None
    return {"id": row.id, "name": row.name}
