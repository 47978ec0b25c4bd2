"""What an attempt leaves in the database: its row and, where it was right, the solve with all that follows from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.challenges import attempt_sql as sql
from ctfd_twisted.challenges.asking import Account
from ctfd_twisted.db.notices import touch
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.scoring.news import tell_points, tell_solved
from ctfd_twisted.scoring.values import recompute_value
from ctfd_twisted.webhooks.events import Named, SolveCreated, Solved, moment
from ctfd_twisted.webhooks.store import emit_solve


class NewAttempt(msgspec.Struct, frozen=True):
    """Who answers what; ``submission`` is as it was sent, ``address`` that of the client."""

    user_id: int
    is_admin: bool
    challenge_id: int
    submission: str
    address: str


def _row(now: datetime, account: Account, new: NewAttempt, answer: str, kind: str) -> dict[str, Any]:
    return {
        "challenge_id": new.challenge_id,
        "user_id": account.user_id,
        "team_id": account.team_id,
        "ip": new.address,
        "provided": answer,
        "type": kind,
        "date": now,
    }


def store(conn: Connection, now: datetime, account: Account, new: NewAttempt, answer: str, kind: str) -> None:
    """Store an attempt that is no solve; *kind* is its type, and nobody but the account hears of it."""
    sql.RECORD.run(conn, _row(now, account, new, answer, kind))
    touch(conn, account.topic)


def store_solve(
    conn: Connection,
    now: datetime,
    account: Account,
    new: NewAttempt,
    challenge: Any,
    kind: IChallengeType,
    answer: str,
) -> bool:
    """Store a solve and what follows from it; False, with nothing stored, where the database has one already."""
    solve_id = sql.RECORD_SOLVE.scalar(conn, _row(now, account, new, answer, "correct"))
    facts = {"id": solve_id, "challenge_id": challenge.id, "user_id": account.user_id, "team_id": account.team_id}
    # A conflict is rarer than a savepoint is dear: whoever is locked here was asked before whether it is solved.
    if not sql.SOLVE.run(conn, facts):
        sql.FORGET.run(conn, {"id": solve_id})
        return False
    tell_solved(conn, challenge.id)
    tell_points(conn, account.user_id, account.team_id)
    touch(conn, account.topic)
    teams_mode = account.team_id is not None
    value = _value_now(conn, kind, challenge, teams_mode=teams_mode)
    solve = SolveCreated(
        id=solve_id,
        challenge_id=challenge.id,
        challenge=Solved(challenge.id, challenge.name or "", challenge.category, value),
        team=None if account.team_id is None else Named(account.team_id, account.team_name),
        user=Named(account.user_id, account.user_name),
        date=moment(now),
    )
    emit_solve(conn, now, solve, listed=account.listed, teams_mode=teams_mode)
    return True


def _value_now(conn: Connection, kind: IChallengeType, challenge: Any, *, teams_mode: bool) -> int | None:
    """The challenge's value with the new solve, stored where it follows the solves."""
    settings = kind.settings(conn, (challenge.id,)).get(challenge.id)
    if settings is None or kind.value_after(settings, 0) is None:
        return challenge.value  # type: ignore[no-any-return]
    return recompute_value(conn, kind, settings, challenge.id, teams_mode=teams_mode)
