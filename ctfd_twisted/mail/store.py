"""The outbox: a letter is written into it by the transaction that owes it, and deleted when it was delivered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
from sqlalchemy import Connection, delete, func, select, update

from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.mail.rules import wait_after
from ctfd_twisted.mail.tables import outbox

#: Whoever has claimed a letter has this long to deliver it before another node may.
CLAIM: Final = timedelta(minutes=5)
_ERROR_LENGTH: Final = 1000


class SealedLetter(msgspec.Struct, frozen=True):
    """A letter whose body only this deployment can read."""

    recipient: str
    subject: str
    body: bytes


class OwedLetter(msgspec.Struct, frozen=True):
    """A claimed letter; *attempts* counts the present one."""

    id: int
    letter: SealedLetter
    attempts: int


def enqueue(conn: Connection, now: datetime, letter: SealedLetter) -> int:
    """Owe *letter*: it is sent after, and only if, this transaction commits. Returns its id."""
    values = {
        "recipient": letter.recipient,
        "subject": letter.subject,
        "body": letter.body,
        "created": now,
        "attempts": 0,
        "next_attempt": now,
        "last_error": None,
    }
    touch(conn, "mail")
    return insert_row(conn, outbox, values)


def claim_due(conn: Connection, now: datetime, limit: int) -> tuple[OwedLetter, ...]:
    """Claim up to *limit* letters that are due, the oldest first, so that nobody else sends them meanwhile."""
    due = (
        select(outbox)
        .where(outbox.c.next_attempt <= now)
        .order_by(outbox.c.next_attempt, outbox.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    claimed = tuple(
        OwedLetter(row.id, SealedLetter(row.recipient, row.subject, bytes(row.body)), row.attempts + 1)
        for row in conn.execute(due)
    )
    if claimed:
        ids = [owed.id for owed in claimed]
        claims = {"attempts": outbox.c.attempts + 1, "next_attempt": now + CLAIM}
        conn.execute(update(outbox).where(outbox.c.id.in_(ids)).values(**claims))
    return claimed


def next_due(conn: Connection) -> datetime | None:
    """Return when the next letter is due, ``None`` where nothing is owed."""
    earliest: datetime | None = conn.scalar(select(func.min(outbox.c.next_attempt)))
    return earliest


def record_delivered(conn: Connection, letter_id: int) -> None:
    """Forget a letter that was delivered."""
    conn.execute(delete(outbox).where(outbox.c.id == letter_id))


def record_failed(conn: Connection, now: datetime, owed: OwedLetter, error: str, *, for_good: bool) -> bool:
    """Note why a letter was not delivered and return whether it is tried again.

    After the last attempt, or where trying again is no use, the letter stays as it is for administrators to see.
    """
    wait = None if for_good else wait_after(owed.attempts)
    values = {"last_error": error[:_ERROR_LENGTH], "next_attempt": None if wait is None else now + wait}
    conn.execute(update(outbox).where(outbox.c.id == owed.id).values(**values))
    return wait is not None
