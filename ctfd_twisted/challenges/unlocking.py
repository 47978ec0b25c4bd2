"""Unlocking a hint or a solution (docs/rules.md#hints): what it needs, what it costs, and what it leaves.

One transaction, and it holds the account's row (record 60): points are looked at where nobody else of the account can
spend them, so two hints that there are points for once are one unlock, on every node.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, TypedDict

import msgspec
from sqlalchemy import Connection, Row, select

from ctfd_twisted.challenges.asking import Account, locked_account, reach_of, solved_by
from ctfd_twisted.challenges.catalogue import Solution
from ctfd_twisted.challenges.detail import visible_solution
from ctfd_twisted.challenges.hints_store import ask_for_hint
from ctfd_twisted.challenges.tables import challenges, solutions
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound, Refused
from ctfd_twisted.http.dates import iso
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.store import account_score
from ctfd_twisted.scoring.tables import awards, unlocks

Unlockable = Literal["hints", "solutions"]

#: To somebody who has not unlocked the hints that come before.
OTHERS_FIRST: Final = {"requirements": ["You must unlock other hints before accessing this hint"]}
_ALREADY: Final = "You've already unlocked this target"


class UnlockShown(TypedDict):
    """That an account has unlocked a hint or a solution, whose id is ``target``."""

    id: int
    user_id: int | None
    team_id: int | None
    target: int | None
    date: str | None
    type: str | None


class NewUnlock(msgspec.Struct, frozen=True):
    """Who unlocks the hint or solution of which id."""

    user_id: int
    is_admin: bool
    target: int


def unlock_hint(conn: Connection, now: datetime, new: NewUnlock) -> UnlockShown:
    """Unlock a hint for the player's account, pay for it, and return the unlock as the API shows it.

    Raises ``Forbidden`` for somebody without a team where teams play, ``NotFound`` for a hint that is not there for the
    account, ``Refused`` where other hints come first, ``Invalid`` where the points don't suffice, and where the account
    has unlocked it already.
    """
    competition = read_competition(conn)
    account = locked_account(conn, competition, new.user_id)
    hint, needed = ask_for_hint(conn, new.target)
    challenge = _readable(conn, now, account, new, hint.challenge_id)
    unlocked = _unlocked(conn, account, "hints")
    if not needed <= unlocked:
        raise Refused(OTHERS_FIRST)
    if hint.cost > account_score(conn, competition, account.id, frozen=False):
        raise Invalid(score="You do not have enough points to unlock this hint")
    if hint.id in unlocked:
        raise Invalid(target=_ALREADY)
    # A free hint leaves an award of nothing: CTFd's clients count on it.
    award = {
        "type": "standard",
        "name": f"Hint {hint.id}",
        "description": f"Hint for {challenge.name}",
        "value": -hint.cost,
        "category": "hints",
    }
    insert_row(conn, awards, {"user_id": account.user_id, "team_id": account.team_id, "date": now, **award})
    tell_points(conn, account.user_id, account.team_id)
    return _record(conn, now, account, "hints", hint.id)


def unlock_solution(conn: Connection, now: datetime, new: NewUnlock) -> UnlockShown:
    """The same for a solution, which is free; raises ``NotFound`` also for one that the account could not read.

    CTFd unlocks those as well, and so tells which ids are solutions that nobody may know of.
    """
    account = locked_account(conn, read_competition(conn), new.user_id)
    row = conn.execute(select(solutions).where(solutions.c.id == new.target)).first()
    if row is None:
        raise NotFound
    _readable(conn, now, account, new, row.challenge_id)
    solved = row.challenge_id in solved_by(conn, account)
    if not new.is_admin and visible_solution(Solution(row.id, row.state), solved=solved) is None:
        raise NotFound
    if row.id in _unlocked(conn, account, "solutions"):
        raise Invalid(target=_ALREADY)
    return _record(conn, now, account, "solutions", row.id)


def _record(conn: Connection, now: datetime, account: Account, type_: Unlockable, target: int) -> UnlockShown:
    row = {"user_id": account.user_id, "team_id": account.team_id, "target": target, "date": now, "type": type_}
    unlock_id = insert_row(conn, unlocks, row)
    touch(conn, account.topic)
    return {
        "id": unlock_id,
        "user_id": account.user_id,
        "team_id": account.team_id,
        "target": target,
        "date": iso(now),
        "type": type_,
    }


def _readable(conn: Connection, now: datetime, account: Account, new: NewUnlock, challenge_id: int | None) -> Row[Any]:
    """The challenge, where the account may read what hangs on it; raises ``NotFound``."""
    challenge = conn.execute(select(challenges).where(challenges.c.id == challenge_id)).first()
    if challenge is None or not (new.is_admin or reach_of(conn, now, account, challenge).readable):
        raise NotFound
    return challenge


def _unlocked(conn: Connection, account: Account, type_: Unlockable) -> frozenset[int]:
    kind = account_kind(teams_mode=account.team_id is not None)
    mine = select(unlocks.c.target).where(kind.of(unlocks) == account.id, unlocks.c.type == type_)
    return frozenset(conn.execute(mine).scalars())
