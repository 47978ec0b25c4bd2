"""From which addresses players were seen."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

import msgspec
from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import tracking
from ctfd_twisted.db.writes import insert_row


class Sighting(msgspec.Struct, frozen=True):
    """A user was at an address, last at *at*."""

    user_id: int
    address: str
    at: datetime


def record_sightings(conn: Connection, sightings: Iterable[Sighting]) -> None:
    """Keep one row per user and address, with the instant of the newest sighting.

    Users who are gone by now are left out. Several rows for one user and address (CTFd makes them under load) are taken
    for one; the oldest is kept up to date.
    """
    for seen in sightings:
        mine = (tracking.c.user_id == seen.user_id, tracking.c.ip == seen.address, tracking.c.type.is_(None))
        first = select(func.min(tracking.c.id)).where(*mine).scalar_subquery()
        if conn.execute(update(tracking).where(tracking.c.id == first).values(date=seen.at)).rowcount:
            continue
        values = {"type": None, "ip": seen.address, "target": None, "user_id": seen.user_id, "date": seen.at}
        with suppress(IntegrityError), conn.begin_nested():  # the user is gone
            insert_row(conn, tracking, values)
