"""The first accounts of the public board with what they scored, as JSON that was made once for everybody."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypedDict

import msgspec
from sqlalchemy import Connection, and_, null, select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.rules import Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.http.dates import zulu
from ctfd_twisted.scoring.accounts import USERS
from ctfd_twisted.scoring.lines import Line, template
from ctfd_twisted.scoring.live_board import Board
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.store import Standing
from ctfd_twisted.scoring.tables import awards, solves, submissions

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

    def standings(self, count: int = MOST) -> Sequence[Standing]:
        """The first *count* accounts, whose places in a bracket are counted anew."""
        if self.bracket_id is None:
            return self.board.first(count)
        found = [row for row in self.board.standings if row.bracket_id == self.bracket_id]
        return [msgspec.structs.replace(row, place=place) for place, row in enumerate(found[:count], 1)]


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


class History:
    """What is told of one of the first, but for the points that follow solves: those are put in when it is told."""

    __slots__ = ("_mark", "_template", "_values")

    def __init__(self, row: Standing, wanted: Top, scored: Sequence[tuple[int | None, Scored]]) -> None:
        """*row* is the account, *scored* what it has, each with the challenge that its value follows, if it does."""
        first = {
            "id": row.account_id,
            "account_url": f"{wanted.root}/{wanted.board.kind.word}s/{row.account_id}",
            "name": row.name,
        }
        bracket = {"bracket_id": row.bracket_id, "bracket_name": row.bracket_name}
        solves = (_template(one, follows=follows is not None) for follows, one in scored)
        self._template = b'{%b,"score":%%d,%b,"solves":[%b]}' % (template(first), template(bracket), b",".join(solves))
        self._values = tuple(follows for follows, _ in scored if follows is not None)
        digest = hashlib.blake2b(self._template, digest_size=9).digest()
        self._mark = digest.replace(b"%", b"%%") + b",".join([b"%d"] * (1 + len(self._values))) + b";"

    def told(self, score: int, worth: Mapping[int, int]) -> Line:
        """The account with *score*, where challenges that follow their solves are *worth* that."""
        numbers = (score, *map(worth.__getitem__, self._values))
        return Line(self._template % numbers, self._mark % numbers)


def _template(scored: Scored, *, follows: bool) -> bytes:
    if not follows:
        return b"{%b}" % template(scored)
    first = {name: value for name, value in scored.items() if name not in {"value", "date"}}
    return b'{%b,"value":%%d,%b}' % (template(first), template({"date": scored["date"]}))


def read_top(conn: Connection, wanted: Top) -> tuple[bytes, ...]:
    """The first accounts by their places, each with everything that scored, as members of the answer's object."""
    rows = wanted.standings()
    histories = read_histories(conn, wanted, rows, read_existing(conn, wanted.released))
    told = [histories[row.account_id].told(row.score, wanted.board.worth) for row in rows]
    return members(told)


def members(told: Iterable[Line]) -> tuple[bytes, ...]:
    """Accounts by their places, as members of the answer's object."""
    return tuple(b'"%d":%b' % (place, line.rest) for place, line in enumerate(told, 1))


def top_answer(members: Sequence[bytes], places: int = MOST) -> bytes:
    """The whole answer about the first *places* of *members*: ``{"1": {..., "solves": [...]}}``."""
    return b'{"success":true,"data":{%b}}' % b",".join(members[: min(max(places, 1), MOST)])


def read_histories(
    conn: Connection, wanted: Top, rows: Sequence[Standing], existing: frozenset[int]
) -> dict[int, History]:
    """The histories of the accounts *rows*, up to the freeze, oldest first; what is of no value is told, too.

    Challenges that are not *existing*, and hidden and banned members of teams, score without being named.
    """
    board = wanted.board
    kind, ids = board.kind, [row.account_id for row in rows]
    solve, award = solves.c, awards.c
    person = users.c.id.label("user_id")
    of_solves = (
        select(solve.id, solve.challenge_id, person, solve.team_id, challenges.c.value, submissions.c.date)
        .join_from(solves, submissions, submissions.c.id == solve.id)
        .join(challenges, challenges.c.id == solve.challenge_id)
        .outerjoin(users, and_(users.c.id == solve.user_id, USERS.listed))
        .where(kind.of(solves).in_(ids))
    )
    of_awards = (
        select(award.id, null().label("challenge_id"), person, award.team_id, award.value, award.date)
        .outerjoin(users, and_(users.c.id == award.user_id, USERS.listed))
        .where(kind.of(awards).in_(ids))
    )
    if board.freeze is not None:
        of_solves = of_solves.where(submissions.c.date < board.freeze)
        of_awards = of_awards.where(award.date < board.freeze)
    found: list[Any] = [*conn.execute(of_solves), *conn.execute(of_awards)]
    found.sort(key=lambda row: (row.date or LONG_AGO, row.id))
    scored: defaultdict[int, list[tuple[int | None, Scored]]] = defaultdict(list)
    for row in found:
        account_id = getattr(row, kind.column)
        one: Scored = {
            "challenge_id": row.challenge_id if row.challenge_id in existing else None,
            "account_id": account_id,
            "team_id": row.team_id,
            "user_id": row.user_id,
            "value": row.value,
            "date": zulu(row.date or LONG_AGO),
        }
        scored[account_id].append((row.challenge_id if row.challenge_id in board.worth else None, one))
    return {row.account_id: History(row, wanted, scored[row.account_id]) for row in rows}


def read_existing(conn: Connection, now: datetime) -> frozenset[int]:
    """The ids of the challenges whose existence nothing denies to anybody at *now*."""
    gates = [gate_of(row) for row in conn.execute(select(challenges))]
    existing = {gate.id for gate in gates}
    return frozenset(gate.id for gate in gates if reach(gate, now, _ANYBODY, existing).accessible)
