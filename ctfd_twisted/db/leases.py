"""Leases: what must run once among several nodes is run by the one that holds its lease.

A lease is a row with its holder's name and the instant it expires. The holder renews it well before that; when the
holder dies, another takes it after at most one *ttl*.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, delete, or_, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.db.tables import leases

_HELD: Final = select(leases.c.holder).where(
    leases.c.name == bindparam("lease"), leases.c.holder == bindparam("who"), leases.c.expires > bindparam("now")
)


def acquire(conn: Connection, now: datetime, name: str, holder: str, ttl_seconds: float) -> bool:
    """Take or renew the lease *name* for *holder* until *ttl_seconds* after *now*; False while another holds it."""
    until = now + timedelta(seconds=ttl_seconds)
    taken = conn.execute(
        update(leases)
        .where(leases.c.name == name, or_(leases.c.holder == holder, leases.c.expires <= now))
        .values(holder=holder, expires=until)
    )
    if taken.rowcount:
        return True
    try:
        with conn.begin_nested():
            conn.execute(leases.insert().values(name=name, holder=holder, expires=until))
    except IntegrityError:
        return False
    return True


def holds(conn: Connection, now: datetime, name: str, holder: str) -> bool:
    """Whether *holder* has the lease *name* at *now*: what a transaction asks that only the holder may make."""
    return conn.execute(_HELD, {"lease": name, "who": holder, "now": now}).first() is not None


def release(conn: Connection, name: str, holder: str) -> None:
    """Give the lease *name* back, if *holder* has it, so that another need not wait for its end."""
    conn.execute(delete(leases).where(leases.c.name == name, leases.c.holder == holder))
