"""Who has looked at which challenge, for the statistics."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import tracking, users
from ctfd_twisted.challenges.own import OPENED
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked


def record_opened(conn: Connection, now: datetime, user_id: int, challenge_id: int, address: str) -> None:
    """Remember that a player has looked at a challenge for the first time; later looks leave nothing."""
    conn.execute(locked(select(users.c.id).where(users.c.id == user_id), conn))
    seen = select(tracking.c.id).where(
        tracking.c.user_id == user_id, tracking.c.type == OPENED, tracking.c.target == challenge_id
    )
    if conn.execute(seen).first() is None:
        row = {"type": OPENED, "ip": address, "target": challenge_id, "user_id": user_id, "date": now}
        conn.execute(tracking.insert().values(row))
    touch(conn, f"user:{user_id}")
