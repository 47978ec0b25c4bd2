"""Who has solved a challenge, in the order in which they did."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.http.dates import zulu
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.news import solved_topic
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.tables import solves, submissions

#: After which commits any list may be stale.
TOPICS = ("challenges", "accounts", "config")


class Solver(TypedDict):
    """An account that has solved a challenge, and when."""

    account_id: int
    name: str | None
    date: str
    account_url: str


class Solvers(NamedTuple):
    """Which list is asked for: with *frozen*, the one that stands still at the freeze; *root* begins the addresses."""

    challenge_id: int
    frozen: bool
    root: str

    def topics(self) -> tuple[str, ...]:
        """After which further commits this list may be stale."""
        return (solved_topic(self.challenge_id),)


def read_solvers(conn: Connection, wanted: Solvers) -> bytes:
    """The whole answer, a list of ``Solver`` without the hidden and the banned."""
    competition = read_competition(conn)
    kind = account_kind(teams_mode=competition.teams)
    statement = (
        select(kind.table.c.id, kind.table.c.name, submissions.c.date)
        .join_from(solves, submissions, submissions.c.id == solves.c.id)
        .join(kind.table, kind.table.c.id == kind.of(solves))
        .where(solves.c.challenge_id == wanted.challenge_id, kind.listed)
        .order_by(submissions.c.date, solves.c.id)
    )
    if wanted.frozen and competition.frozen_at is not None:
        statement = statement.where(submissions.c.date < competition.frozen_at)
    data: list[Solver] = [
        {
            "account_id": row.id,
            "name": row.name,
            "date": zulu(row.date or LONG_AGO),
            "account_url": f"{wanted.root}/{kind.word}s/{row.id}",
        }
        for row in conn.execute(statement)
    ]
    return msgspec.json.encode({"success": True, "data": data})
