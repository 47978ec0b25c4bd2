"""The whole board as CTFtime reads it (https://ctftime.org/json-scoreboard-feed), as bytes that were made once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NotRequired, TypedDict

import msgspec
from sqlalchemy import Connection, Select, func, select

from ctfd_twisted.challenges.rules import Viewer, gate_of, order_key, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.store import Standing, displayed_value, standings
from ctfd_twisted.scoring.tables import awards, solves, submissions
from ctfd_twisted.scoring.values import frozen_values


class CtftimeTask(TypedDict):
    """What one account has from one task; ``time`` is in Unix seconds."""

    points: int
    time: int


class CtftimeStanding(TypedDict):
    """One line; ``lastAccept``, in Unix seconds, is missing where no task has brought any points."""

    pos: int
    team: str
    score: int
    taskStats: dict[str, CtftimeTask]
    lastAccept: NotRequired[int]


class CtftimeFeed(TypedDict):
    """The board in CTFtime's format, with the names of tasks in the order of the list of challenges."""

    tasks: list[str]
    standings: list[CtftimeStanding]


class Prepared(msgspec.Struct, frozen=True):
    """The answer, and the instant from which it is stale without any commit: the next release."""

    body: bytes
    until: datetime | None


#: Somebody who has solved nothing and is in no audience: what they see by name, everybody may know.
_ANYBODY: Final = Viewer()


def read_feed(conn: Connection, now: datetime, *, unsolved: bool) -> Prepared:
    """The board at *now*, as it was at the freeze, without the hidden and the banned.

    Tasks are the challenges that everybody sees by name and somebody on the board has points from; with *unsolved*
    also those that nobody has. What is scored by others counts in ``score`` without being told.
    """
    competition = read_competition(conn)
    values = frozen_values(conn, competition)
    gains = _gains(conn, competition, values)
    board = standings(conn, competition)
    rows = conn.execute(select(challenges)).all()
    solved = {challenge_id for standing in board for challenge_id in gains.get(standing.account_id, ())}
    names = _names([row for row in _known(rows, now, values) if unsolved or row.id in solved])
    feed: CtftimeFeed = {
        "tasks": list(names.values()),
        "standings": [_line(standing, gains.get(standing.account_id, {}), names) for standing in board],
    }
    releases = [row.scheduled_at for row in rows if row.scheduled_at is not None and row.scheduled_at > now]
    # CTFtime asks for names in ASCII, with \uXXXX for all else; that is how the standard library writes JSON.
    return Prepared(json.dumps(feed).encode("ascii"), min(releases, default=None))


def _line(standing: Standing, gains: Mapping[int, CtftimeTask], names: Mapping[int, str]) -> CtftimeStanding:
    told = {name: gains[challenge_id] for challenge_id, name in names.items() if challenge_id in gains}
    line: CtftimeStanding = {
        "pos": standing.place,
        "team": standing.name,
        "score": standing.score,
        "taskStats": told,
    }
    times = [task["time"] for task in told.values() if task["points"]]
    if times:
        line["lastAccept"] = max(times)
    return line


def _known(rows: Iterable[Any], now: datetime, values: Mapping[int, int]) -> list[Any]:
    """Those of *rows*, all challenges, that everybody sees by name, in the order of their list at the values told."""
    rows = list(rows)
    existing = {row.id for row in rows}
    named = [row for row in rows if reach(gate_of(row), now, _ANYBODY, existing).named]
    return sorted(named, key=lambda row: order_key(row.position or 0, values.get(row.id, row.value), row.id))


def _names(rows: Iterable[Any]) -> dict[int, str]:
    """The name of each task, by challenge; one that several challenges have is told with the id.

    CTFtime knows a task by its name alone.
    """
    names = {row.id: str(row.name or "") for row in rows}
    counts = Counter(names.values())
    return {number: f"{name} #{number}" if counts[name] > 1 else name for number, name in names.items()}


def _gains(conn: Connection, competition: Competition, values: Mapping[int, int]) -> dict[int, dict[int, CtftimeTask]]:
    """What every account has from every challenge up to the freeze: a solve, or all paid ticks of a hill together."""
    kind = account_kind(teams_mode=competition.teams)
    freeze = competition.frozen_at
    account = kind.of(solves).label("account_id")
    solved: Select[Any] = (
        select(account, solves.c.challenge_id, displayed_value(values).label("points"), submissions.c.date)
        .join_from(solves, submissions, submissions.c.id == solves.c.id)
        .join(challenges, challenges.c.id == solves.c.challenge_id)
    )
    holder = kind.of(awards).label("account_id")
    points, last = func.sum(awards.c.value).label("points"), func.max(awards.c.date).label("date")
    held: Select[Any] = (
        select(holder, ticks.c.challenge_id, points, last)
        .join_from(ticks, awards, awards.c.id == ticks.c.award_id)
        .group_by(holder, ticks.c.challenge_id)
    )
    if freeze is not None:
        solved, held = solved.where(submissions.c.date < freeze), held.where(awards.c.date < freeze)
    gains: defaultdict[int, dict[int, CtftimeTask]] = defaultdict(dict)
    for row in (*conn.execute(solved), *conn.execute(held)):
        before = gains[row.account_id].get(row.challenge_id, {"points": 0, "time": 0})
        moment = int((row.date or LONG_AGO).timestamp())
        gains[row.account_id][row.challenge_id] = {
            "points": before["points"] + int(row.points or 0),
            "time": max(before["time"], moment),
        }
    return gains
