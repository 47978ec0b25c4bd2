"""Transactions that record ticks: outcome, award and reign together, and each tick once.

Only the holder of the lease :data:`LEASE` may record. Two things keep a tick from being paid twice: the lease is asked
for in the transaction, and ``(challenge_id, tick)`` is unique. The second holds even where a node was asleep and does
not know yet that another took over. Whoever records locks the hill's row first, so what they then see of its ticks
stays true until they commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, bindparam, exists, func, insert, select, update

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.leases import holds
from ctfd_twisted.db.notices import touch
from ctfd_twisted.koth.identifiers import Directory
from ctfd_twisted.koth.protocol import KEPT_CHARACTERS, Evidence
from ctfd_twisted.koth.rules import Account, Reign, Verdict, decide, failures_after
from ctfd_twisted.koth.store import find_account, reign_of, reign_values, settings_of
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.webhooks.store import emit, king_changed

LEASE: Final = "koth"
#: The word that begins the topic of a change of king; the hill's challenge follows after a colon.
KING: Final = "king"

# These run with every tick, so they are put together once.
_LOCKED: Final = (
    select(hills, challenges.c.name, challenges.c.category)
    .join(challenges, challenges.c.id == hills.c.challenge_id)
    .where(hills.c.challenge_id == bindparam("hill"))
    .with_for_update(of=hills)
)
_LAST: Final = select(func.max(ticks.c.tick)).where(ticks.c.challenge_id == bindparam("hill")).scalar_subquery()
_RECORDED: Final = exists().where(ticks.c.challenge_id == bindparam("hill"), ticks.c.tick == bindparam("number"))
_KNOWN: Final = select(_LAST.label("last"), _RECORDED.label("recorded"))
_ADD: Final = insert(ticks)
_GIVE: Final = insert(awards)
_GO_ON: Final = update(hills).where(hills.c.challenge_id == bindparam("hill"))


class NotTheHolder(Exception):
    """This node does not poll (any more): another has the lease."""


class AlreadyRecorded(Exception):
    """Somebody else has recorded the tick; nothing of this one is stored."""


class Moment(msgspec.Struct, frozen=True):
    """One tick by its number, and when it was due."""

    tick: int
    due: datetime


class Recorded(msgspec.Struct, frozen=True):
    """What was recorded of a tick. ``failures`` is how many polls in a row have failed by now."""

    outcome: str
    points: int
    failures: int


def record_tick(
    conn: Connection,
    now: datetime,
    holder: str,
    directory: Directory,
    challenge_id: int,
    moment: Moment,
    evidence: Evidence,
) -> Recorded | None:
    """Record what a poll has shown, give the award that follows, and tell of a change of king.

    None where the hill is gone. Raises ``NotTheHolder`` and ``AlreadyRecorded``, and then nothing is stored.
    """
    hill = locked_hill(conn, now, holder, challenge_id)
    if hill is None:
        return None
    before_this = conn.execute(_KNOWN, {"hill": challenge_id, "number": moment.tick}).one()
    if before_this.recorded:
        raise AlreadyRecorded
    accounts = tuple(_account(conn, directory, owner) for owner in evidence.owners)
    before = reign_of(hill)
    verdict = decide(
        evidence,
        accounts,
        before,
        settings_of(hill),
        tick=moment.tick,
        due=moment.due,
        teams=directory.teams_mode,
    )
    row = _row(challenge_id, moment, evidence, verdict)
    if verdict.points:
        row["award_id"] = give_award(conn, hill.name, hill.category, row)
    conn.execute(_ADD, row)
    # Ticks that were overrun by this one are recorded already, and it was the last that was owed.
    last = moment.tick if before_this.last is None else max(before_this.last, moment.tick)
    failures = failures_after(hill.failures, verdict.outcome)
    conn.execute(
        _GO_ON,
        {
            "hill": challenge_id,
            "next_tick": max(hill.next_tick, last + 1),
            "last_outcome": verdict.outcome,
            "failures": failures,
            **reign_values(verdict.reign),
        },
    )
    touch(conn, "ticks")
    if verdict.points:
        tell_points(conn, row["user_id"], row["team_id"])
    tell_of_king(conn, now, challenge_id, before, verdict.reign, moment.due, teams_mode=directory.teams_mode)
    return Recorded(verdict.outcome, verdict.points, failures)


def change_of_king(challenge_id: int) -> str:
    """The topic that tells all nodes that a hill has changed hands."""
    return f"{KING}:{challenge_id}"


def tell_of_king(
    conn: Connection,
    now: datetime,
    challenge_id: int,
    before: Reign,
    after: Reign,
    since: datetime,
    *,
    teams_mode: bool,
) -> None:
    """Tell of a change of king, if there is one, as of *since*; the last thing that a transaction does."""
    old, new = (reign.team_id if teams_mode else reign.user_id for reign in (before, after))
    if old == new:
        return
    touch(conn, "hills", change_of_king(challenge_id))
    event = king_changed(conn, challenge_id, king=new, previous=old, teams_mode=teams_mode, since=since)
    emit(conn, now, event)


def locked_hill(conn: Connection, now: datetime, holder: str, challenge_id: int) -> Row[Any] | None:
    """The hill's row with its challenge's name and category, locked until the end of the transaction.

    None where the hill is gone. Raises ``NotTheHolder``.
    """
    if not holds(conn, now, LEASE, holder):
        raise NotTheHolder
    return conn.execute(_LOCKED, {"hill": challenge_id}).one_or_none()


def _account(conn: Connection, directory: Directory, owner: str) -> Account | None:
    match = directory.find(owner)
    return None if match is None else find_account(conn, match, teams_mode=directory.teams_mode)


def _row(challenge_id: int, moment: Moment, evidence: Evidence, verdict: Verdict) -> dict[str, Any]:
    account = verdict.account
    return tick_row(
        challenge_id,
        moment,
        outcome=verdict.outcome,
        detail=verdict.detail or None,
        started=evidence.started,
        latency_ms=evidence.latency_ms,
        status=evidence.status,
        identifier=evidence.owners[0][:KEPT_CHARACTERS] if evidence.owners else None,
        user_id=None if account is None else account.user_id,
        team_id=None if account is None else account.team_id,
        reign=verdict.reign.number if verdict.outcome in {"held", "unconfirmed"} else None,
        points=verdict.points,
        signed=evidence.signed if evidence.owners else None,
        answers=msgspec.to_builtins(evidence.answers),
    )


def give_award(conn: Connection, name: str | None, category: str | None, tick: Mapping[Any, Any]) -> int:
    """Give the award of *tick*, a row of ``ctfp_ticks`` of the challenge *name*, and return its id."""
    award = {
        "user_id": tick["user_id"],
        "team_id": tick["team_id"],
        "type": "koth",
        "name": name,
        "description": f"Tick {tick['tick']}",
        "date": tick["due"],
        "value": tick["points"],
        "category": category,
        "icon": "crown",
        "requirements": None,
    }
    key = conn.execute(_GIVE, award).inserted_primary_key
    assert key is not None  # noqa: S101 - a single-row INSERT always has one
    return int(key[0])


def tick_row(challenge_id: int, moment: Moment, **facts: object) -> dict[str, Any]:
    """A row of ``ctfp_ticks`` with *facts*; what is not among them was not learnt."""
    return {
        "challenge_id": challenge_id,
        "tick": moment.tick,
        "due": moment.due,
        "started": None,
        "latency_ms": None,
        "status": None,
        "identifier": None,
        "user_id": None,
        "team_id": None,
        "reign": None,
        "points": 0,
        "award_id": None,
        "signed": None,
        "answers": None,
        **facts,
    }
