"""The first accounts of the public board with what they scored, as JSON that was made once for everybody."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypedDict

import msgspec
from sqlalchemy import Connection, and_, select

from ctfd_twisted.accounts.tables import brackets, users
from ctfd_twisted.challenges.rules import Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.http.dates import zulu
from ctfd_twisted.scoring.accounts import USERS, account_kind
from ctfd_twisted.scoring.live_board import Board
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.store import Standing, displayed_value
from ctfd_twisted.scoring.tables import awards, solves, submissions
from ctfd_twisted.scoring.values import frozen_values

MOST: Final = 50
#: Somebody who has solved nothing and is in no audience.
_ANYBODY: Final = Viewer()


class Top(NamedTuple):
    """Of which bracket of *board* the first are asked for, ``None`` for all; *root* begins the addresses.

    *released* is when the newest release of a challenge was: those that are scheduled for later are told by no id.
    """

    board: Board
    bracket_id: int | None
    root: str
    released: datetime = LONG_AGO

    @property
    def standings(self) -> list[Standing]:
        """The first accounts, whose places in a bracket are counted anew."""
        bracket_id, rows = self.bracket_id, self.board.standings
        found = [row for row in rows if row.bracket_id == bracket_id] if bracket_id is not None else rows
        return [msgspec.structs.replace(row, place=place) for place, row in enumerate(found[:MOST], 1)]


def read_releases(conn: Connection) -> tuple[datetime, ...]:
    """When challenges were and will be released, in order."""
    moments = select(challenges.c.scheduled_at).where(challenges.c.scheduled_at.is_not(None)).distinct()
    return tuple(sorted(conn.execute(moments).scalars()))


def last_release(releases: Sequence[datetime], now: datetime) -> datetime:
    """The newest of *releases* at *now*."""
    place = bisect_right(releases, now)
    return releases[place - 1] if place else LONG_AGO


class Scored(TypedDict):
    """A solve, or an award, whose ``challenge_id`` is null; so is that of a hidden challenge, and a hidden user's id.

    ``date`` is in UTC and ends in ``Z``.
    """

    challenge_id: int | None
    account_id: int
    team_id: int | None
    user_id: int | None
    value: int | None
    date: str


class TopAccount(TypedDict):
    """One of the first, with everything that scored, oldest first."""

    id: int
    account_url: str
    name: str
    score: int
    bracket_id: int | None
    bracket_name: str | None
    solves: list[Scored]


def read_top(conn: Connection, wanted: Top) -> tuple[bytes, ...]:
    """The first accounts by their places, each with everything that scored, as members of the answer's object."""
    known = select(brackets.c.id).where(brackets.c.id == wanted.bracket_id)
    if wanted.bracket_id is not None and conn.execute(known).first() is None:
        return ()
    competition = read_competition(conn)
    kind = account_kind(teams_mode=competition.teams)
    board = wanted.standings
    scored = _scored(conn, competition, board, _known(conn, wanted.released))
    members = []
    for row in board:
        account: TopAccount = {
            "id": row.account_id,
            "account_url": f"{wanted.root}/{kind.word}s/{row.account_id}",
            "name": row.name,
            "score": row.score,
            "bracket_id": row.bracket_id,
            "bracket_name": row.bracket_name,
            "solves": scored[row.account_id],
        }
        members.append(b'"%d":%b' % (row.place, msgspec.json.encode(account)))
    return tuple(members)


def top_answer(members: tuple[bytes, ...], places: int) -> bytes:
    """The whole answer about the first *places* of what ``read_top`` returned: ``{"1": {..., "solves": [...]}}``."""
    return b'{"success":true,"data":{%b}}' % b",".join(members[: min(max(places, 1), MOST)])


def _scored(
    conn: Connection, competition: Competition, board: Sequence[Standing], known: frozenset[int]
) -> defaultdict[int, list[Scored]]:
    """Solves and awards of each account up to the freeze, oldest first; those of no value too.

    Challenges that are not *known*, and hidden and banned members of teams, score without being named.
    """
    kind = account_kind(teams_mode=competition.teams)
    ids = [row.account_id for row in board]
    worth = displayed_value(frozen_values(conn, competition)).label("value")
    solve, award = solves.c, awards.c
    person = users.c.id.label("user_id")
    of_solves = (
        select(solve.id, solve.challenge_id, person, solve.team_id, worth, submissions.c.date)
        .join_from(solves, submissions, submissions.c.id == solve.id)
        .join(challenges, challenges.c.id == solve.challenge_id)
        .outerjoin(users, and_(users.c.id == solve.user_id, USERS.listed))
        .where(kind.of(solves).in_(ids))
    )
    of_awards = (
        select(award.id, person, award.team_id, award.value, award.date)
        .outerjoin(users, and_(users.c.id == award.user_id, USERS.listed))
        .where(kind.of(awards).in_(ids))
    )
    if competition.frozen_at is not None:
        of_solves = of_solves.where(submissions.c.date < competition.frozen_at)
        of_awards = of_awards.where(award.date < competition.frozen_at)
    rows = [(row, row.challenge_id if row.challenge_id in known else None) for row in conn.execute(of_solves)]
    rows += [(row, None) for row in conn.execute(of_awards)]
    rows.sort(key=lambda pair: (pair[0].date or LONG_AGO, pair[0].id))
    scored: defaultdict[int, list[Scored]] = defaultdict(list)
    for row, challenge_id in rows:
        account_id = getattr(row, kind.column)
        scored[account_id].append({
            "challenge_id": challenge_id,
            "account_id": account_id,
            "team_id": row.team_id,
            "user_id": row.user_id,
            "value": row.value,
            "date": zulu(row.date or LONG_AGO),
        })  # fmt: skip
    return scored


def _known(conn: Connection, now: datetime) -> frozenset[int]:
    """The ids of the challenges whose existence nothing denies to anybody at *now*."""
    gates = [gate_of(row) for row in conn.execute(select(challenges))]
    existing = {gate.id for gate in gates}
    return frozenset(gate.id for gate in gates if reach(gate, now, _ANYBODY, existing).accessible)
