"""Who asks within a transaction, under the lock of their account, and how near they come to a challenge there.

What an attempt and an unlock have in common: both read what decides after they hold the account's row, so that of any
number of them that arrive at once each sees what those before it have stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.challenges import attempt_sql as sql
from ctfd_twisted.challenges.rules import Reach, Viewer, gate_of, reach
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Forbidden


class Account(msgspec.Struct, frozen=True):
    """Who scores by this attempt; ``team_id`` is ``None`` where single users play."""

    user_id: int
    user_name: str
    team_id: int | None
    team_name: str
    listed: bool

    @property
    def id(self) -> int:
        """What solves and awards name the account by."""
        return self.user_id if self.team_id is None else self.team_id

    @property
    def topic(self) -> str:
        """What is told after a commit that concerns this account alone."""
        return f"user:{self.user_id}" if self.team_id is None else f"team:{self.team_id}"


def locked_account(conn: Connection, competition: Competition, user_id: int) -> Account:
    """The account of a user, whose row nobody else changes or asks for until the end of this transaction.

    Raises ``Forbidden`` for the banned, and where teams play for somebody without a team.
    """
    return _account(user_id, sql.ACCOUNT[competition.teams].first(conn, {"user": user_id}))


def free_accounts(conn: Connection, competition: Competition, user_ids: Sequence[int]) -> dict[int, Account]:
    """The same for several, by the users' ids. Those whose row somebody else holds, and whoever may not, are absent."""
    found = sql.FREE_ACCOUNT[competition.teams].each(conn, [{"user": user_id} for user_id in user_ids])
    free: dict[int, Account] = {}
    for user_id, rows in zip(user_ids, found, strict=True):
        with suppress(Forbidden):
            free[user_id] = _account(user_id, rows[0] if rows else None)
    return free


def _account(user_id: int, row: Any) -> Account:
    if row is None or row.banned or row.user_banned:
        raise Forbidden
    listed = row.hidden is False and row.banned is False
    return Account(user_id, row.user_name or "", row.team_id, row.team_name or "", listed)


def reach_of(conn: Connection, now: datetime, account: Account, challenge: Any) -> Reach:
    """How near *account* comes to *challenge*, a row of its table; administrators are treated alike."""
    gate = gate_of(challenge)
    teams_mode = account.team_id is not None
    viewer = Viewer()
    if gate.module_id is not None:
        modules = sql.MODULES[teams_mode].all(conn, {"account": account.id})
        viewer = Viewer(modules=frozenset(row.module_id for row in modules))
    # What is closed in any case is asked no further: it must not take longer to refuse than what is not there.
    reached = reach(gate, now, viewer, frozenset())
    if reached is not Reach.OPEN or not gate.prerequisites:
        return reached
    existing = frozenset(row.id for row in sql.EXISTING.all(conn, {"challenges": gate.prerequisites}))
    return reach(gate, now, msgspec.structs.replace(viewer, solved=solved_by(conn, account)), existing)


def solved_by(conn: Connection, account: Account) -> frozenset[int]:
    """The ids of the challenges that *account* has solved."""
    rows = sql.SOLVED[account.team_id is not None].all(conn, {"account": account.id})
    return frozenset(row.challenge_id for row in rows)
