"""Transactions that take back the awards of ticks, and give them again: a mistake can be undone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, func, select, update

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.koth.recording import give_award
from ctfd_twisted.koth.rules import FOUND
from ctfd_twisted.koth.tables import hills, ticks, voids
from ctfd_twisted.scoring.tables import awards


class Void(msgspec.Struct, frozen=True):
    """What was taken back, why, by whom; *ticks* counts those that are taken back at present."""

    id: int
    challenge_id: int
    from_tick: int
    to_tick: int
    reason: str
    author: str
    date: datetime
    undone: datetime | None
    undone_by: str | None
    ticks: int


def void_ticks(
    conn: Connection, now: datetime, author: Player, challenge_id: int, first: int, last: int, reason: str
) -> Void:
    """Take back what ticks *first* to *last* of a hill have given; the ticks keep their evidence.

    Ticks that found no king have nothing to take back and stay as they are, as do those that were taken back before.
    Raises ``NotFound`` for a challenge that is no hill, and ``Invalid`` where no tick is left.
    """
    _lock(conn, challenge_id)
    wanted = (
        ticks.c.challenge_id == challenge_id,
        ticks.c.tick.between(first, last),
        ticks.c.outcome.in_(FOUND),
    )
    if conn.execute(select(ticks.c.id).where(*wanted).limit(1)).first() is None:
        raise Invalid({"from": ["No tick from this one to the last has anything to take back."]})
    void_id = insert_row(
        conn,
        voids,
        {
            "challenge_id": challenge_id,
            "from_tick": first,
            "to_tick": last,
            "reason": reason,
            "author_id": author.id,
            "author": author.name,
            "date": now,
        },
    )
    conn.execute(delete(awards).where(awards.c.id.in_(select(ticks.c.award_id).where(*wanted))))
    conn.execute(
        update(ticks).where(*wanted).values(void_id=void_id, voided=ticks.c.outcome, outcome="void", award_id=None)
    )
    touch(conn, "standings", "hills", "ticks")
    return _void(_found(conn, challenge_id, void_id))


def undo_void(conn: Connection, now: datetime, author: Player, challenge_id: int, void_id: int) -> Void:
    """Give again what a void has taken. Raises ``NotFound``, and ``Invalid`` where it was undone already."""
    name, category = _lock(conn, challenge_id)
    if _found(conn, challenge_id, void_id).undone is not None:
        raise Invalid({"": ["This was undone already."]})
    for row in conn.execute(select(ticks).where(ticks.c.void_id == void_id).order_by(ticks.c.tick)).mappings().all():
        # Whose account was deleted since has nobody to give the award to.
        owed = row["points"] and (row["user_id"] is not None or row["team_id"] is not None)
        award_id = give_award(conn, name, category, row) if owed else None
        conn.execute(
            update(ticks)
            .where(ticks.c.id == row["id"])
            .values(outcome=row["voided"], voided=None, void_id=None, award_id=award_id)
        )
    conn.execute(update(voids).where(voids.c.id == void_id).values(undone=now, undone_by=author.name))
    touch(conn, "standings", "hills", "ticks")
    return _void(_found(conn, challenge_id, void_id))


def read_voids(conn: Connection, challenge_id: int) -> tuple[Void, ...]:
    """What was taken back from a hill, the latest first."""
    found = conn.execute(_ALL.where(voids.c.challenge_id == challenge_id).order_by(voids.c.id.desc()))
    return tuple(_void(row) for row in found)


_COUNT = select(func.count()).where(ticks.c.void_id == voids.c.id).scalar_subquery()
_ALL = select(voids, _COUNT.label("ticks"))


def _lock(conn: Connection, challenge_id: int) -> tuple[str | None, str | None]:
    """Let nobody record a tick of the hill meanwhile; its name and category.

    Raises ``NotFound`` for what is no hill.
    """
    hill = (
        select(challenges.c.name, challenges.c.category)
        .join(hills, hills.c.challenge_id == challenges.c.id)
        .where(hills.c.challenge_id == challenge_id)
        .with_for_update(of=hills)
    )
    row = conn.execute(hill).one_or_none()
    if row is None:
        raise NotFound
    return row.name, row.category


def _found(conn: Connection, challenge_id: int, void_id: int) -> Row[Any]:
    row = conn.execute(_ALL.where(voids.c.id == void_id, voids.c.challenge_id == challenge_id)).one_or_none()
    if row is None:
        raise NotFound
    return row


def _void(row: Row[Any]) -> Void:
    return Void(
        id=row.id,
        challenge_id=row.challenge_id,
        from_tick=row.from_tick,
        to_tick=row.to_tick,
        reason=row.reason,
        author=row.author,
        date=row.date,
        undone=row.undone,
        undone_by=row.undone_by,
        ticks=row.ticks,
    )
