"""From which addresses players were seen, and other traces of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, select, tuple_, update

from ctfd_twisted.accounts.tables import tracking, users
from ctfd_twisted.db.gathered import gathered, pairs

#: A user, and an address of theirs.
Place = tuple[int, str]

# Several rows for one user and address (CTFd makes them under load) are taken for one: the oldest. That the users are
# named apart lets SQLite find them by the index, which it does not do by pairs.
_KNOWN: Final = (
    select(func.min(tracking.c.id).label("id"), tracking.c.user_id, tracking.c.ip)
    .where(
        tracking.c.user_id.in_(bindparam("users", expanding=True)),
        tuple_(tracking.c.user_id, tracking.c.ip).in_(bindparam("places", expanding=True)),
        tracking.c.type.is_(None),
    )
    .group_by(tracking.c.user_id, tracking.c.ip)
    .subquery("known")
)
_WHERE_SEEN: Final = select(gathered(_KNOWN.c.user_id, _KNOWN.c.ip))
_SEEN_AGAIN: Final = update(tracking).where(tracking.c.id.in_(select(_KNOWN.c.id))).values(date=bindparam("at"))

# From a SELECT, so that nothing is added for a user who is gone.
_TRACE: Final = insert(tracking).from_select(
    ["user_id", "type", "ip", "target", "date"],
    select(
        users.c.id,
        *(bindparam(column.name, type_=column.type) for column in tracking.c["type", "ip", "target", "date"]),
    ).where(users.c.id == bindparam("user")),
)


def record_sightings(conn: Connection, sightings: Mapping[Place, datetime]) -> None:
    """Keep one row per user and address, with the instant at which the user was last seen there.

    Rows that are there already all get the newest instant of *sightings*, so what is written together should be of one
    moment. Users who are gone by now are left out.
    """
    places = {"users": list({user_id for user_id, _ in sightings}), "places": list(sightings)}
    again = conn.execute(_SEEN_AGAIN, {**places, "at": max(sightings.values())})
    if again.rowcount == len(sightings):
        return
    known = set(pairs(conn.scalar(_WHERE_SEEN, places)))
    new = [(*place, at) for place, at in sightings.items() if place not in known]
    leave_traces(conn, [{"user": user, "type": None, "ip": ip, "target": None, "date": at} for user, ip, at in new])


def leave_traces(conn: Connection, traces: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to ``tracking``, each with ``user``, ``type``, ``ip``, ``target`` and ``date``.

    Those of users who are gone by now are left out.
    """
    if traces:
        conn.execute(_TRACE, traces)
