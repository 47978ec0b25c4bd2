"""What attempts leave in the database: their rows and, where they were right, the solves with all that follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.challenges import attempt_sql as sql
from ctfd_twisted.challenges.asking import Account
from ctfd_twisted.db.notices import touch
from ctfd_twisted.scoring.news import tell_points, tell_solved
from ctfd_twisted.scoring.values import following, recount
from ctfd_twisted.webhooks.events import Named, SolveCreated, Solved, moment
from ctfd_twisted.webhooks.store import NewSolve, emit_solves


class NewAttempt(msgspec.Struct, frozen=True):
    """Who answers what, and when; ``submission`` is as it was sent, ``address`` that of the client."""

    at: datetime
    user_id: int
    is_admin: bool
    challenge_id: int
    submission: str
    address: str


class Entry(msgspec.Struct, frozen=True):
    """What one attempt leaves: ``answer`` is trimmed, ``kind`` the submission's type."""

    new: NewAttempt
    account: Account
    answer: str
    kind: str

    def row(self) -> dict[str, Any]:
        """Its columns."""
        return {
            "challenge_id": self.new.challenge_id,
            "user_id": self.account.user_id,
            "team_id": self.account.team_id,
            "ip": self.new.address,
            "provided": self.answer,
            "type": self.kind,
            "date": self.new.at,
        }


class Solve(msgspec.Struct, frozen=True):
    """A solve that is stored: the submission's id, what it came from, and the row of its challenge."""

    id: int
    entry: Entry
    challenge: Any


def record(conn: Connection, entries: Sequence[Entry]) -> None:
    """Store attempts that are no solves; nobody but their accounts hears of them."""
    sql.RECORD.run_each(conn, [entry.row() for entry in entries])
    touch(conn, *(entry.account.topic for entry in entries))


def record_solves(conn: Connection, entries: Sequence[tuple[Entry, Any]]) -> list[Solve | None]:
    """Store right answers, each with the row of its challenge; None where the database has that solve already.

    No two of them are of one account. Whoever stores them calls ``follow`` afterwards.
    """
    rows = [entry.row() for entry, _ in entries]
    ids = [row.id for (row,) in sql.RECORD_SOLVE.each(conn, rows)]
    facts = [{**row, "id": solve_id} for row, solve_id in zip(rows, ids, strict=True)]
    # A conflict is rarer than a savepoint is dear: whoever is locked here was asked before whether it is solved.
    added = sql.SOLVE.each(conn, facts)
    sql.FORGET.run_each(conn, [{"id": solve_id} for solve_id, rows in zip(ids, added, strict=True) if not rows])
    return [
        Solve(solve_id, entry, challenge) if rows else None
        for solve_id, rows, (entry, challenge) in zip(ids, added, entries, strict=True)
    ]


def follow(conn: Connection, solves: Sequence[Solve]) -> None:
    """What comes of new *solves*, in the order in which they were stored: values, news, and last the events."""
    if not solves:
        return
    for solve in solves:
        account = solve.entry.account
        tell_solved(conn, solve.challenge.id)
        tell_points(conn, account.user_id, account.team_id)
        touch(conn, account.topic)
    teams_mode = solves[0].entry.account.team_id is not None
    values = _values(conn, solves, teams_mode=teams_mode)
    told = [
        NewSolve(solve.entry.new.at, _created(solve, value), solve.entry.account.listed)
        for solve, value in zip(solves, values, strict=True)
    ]
    emit_solves(conn, told, teams_mode=teams_mode)


def _values(conn: Connection, solves: Sequence[Solve], *, teams_mode: bool) -> list[int | None]:
    """What the challenge of each was worth with that solve; stored where it follows the solves."""
    worth = following(conn, {solve.challenge.id: solve.challenge.type for solve in solves})
    counts = recount(conn, worth, teams_mode=teams_mode) if worth else {}
    # The count is that of all of them: of those before the last it was less by the ones that came after.
    later: Counter[int] = Counter()
    values: list[int | None] = []
    for solve in reversed(solves):
        number = solve.challenge.id
        if number in worth:
            kind, settings = worth[number]
            values.append(kind.value_after(settings, counts[number] - later[number]))
        else:
            values.append(solve.challenge.value)
        later[number] += solve.entry.account.listed
    return values[::-1]


def _created(solve: Solve, value: int | None) -> SolveCreated:
    account, challenge = solve.entry.account, solve.challenge
    return SolveCreated(
        id=solve.id,
        challenge_id=challenge.id,
        challenge=Solved(challenge.id, challenge.name or "", challenge.category, value),
        team=None if account.team_id is None else Named(account.team_id, account.team_name),
        user=Named(account.user_id, account.user_name),
        date=moment(solve.entry.new.at),
    )
