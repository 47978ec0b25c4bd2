"""From which addresses players were seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Text, bindparam, cast, func, insert, select, update

from ctfd_twisted.accounts.tables import tracking, users
from ctfd_twisted.db.gathered import gathered, pairs

#: A user, and an address of theirs.
Place = tuple[int, str]

# Several rows for one user and address (CTFd makes them under load) are taken for one: the oldest. The address is cast,
# because SQLite would look up every address with every user in the index; so it goes through those of each user.
_KNOWN: Final = (
    select(func.min(tracking.c.id).label("id"), tracking.c.user_id, tracking.c.ip)
    .where(
        tracking.c.user_id.in_(bindparam("users", expanding=True)),
        tracking.c.type.is_(None),
        tracking.c.target.is_(None),
        cast(tracking.c.ip, Text).in_(bindparam("addresses", expanding=True)),
    )
    .group_by(tracking.c.user_id, tracking.c.ip)
    .subquery("known")
)
_WHERE_SEEN: Final = select(gathered(_KNOWN.c.id, _KNOWN.c.user_id, _KNOWN.c.ip))
_SEEN_AGAIN: Final = (
    update(tracking).where(tracking.c.id.in_(bindparam("rows", expanding=True))).values(date=bindparam("at"))
)
# From a SELECT, so that nothing is added for a user who is gone.
_SEEN_FIRST: Final = insert(tracking).from_select(
    ["user_id", "ip", "date"],
    select(
        users.c.id, bindparam("address", type_=tracking.c.ip.type), bindparam("at", type_=tracking.c.date.type)
    ).where(users.c.id == bindparam("user")),
)


def record_sightings(conn: Connection, sightings: Mapping[Place, datetime]) -> None:
    """Keep one row per user and address, with the instant at which the user was last seen there.

    Rows that are there already all get the newest instant of *sightings*, so what is written together should be of one
    moment. Users who are gone by now are left out.
    """
    wanted = {
        "users": list({user_id for user_id, _ in sightings}),
        "addresses": list({address for _, address in sightings}),
    }
    known: dict[Place, int] = {}
    for row_id, place in pairs(conn.scalar(_WHERE_SEEN, wanted)):
        user_id, _, address = place.partition(" ")
        known[int(user_id), address] = row_id
    again = [row_id for place, row_id in known.items() if place in sightings]
    if again:
        conn.execute(_SEEN_AGAIN, {"rows": again, "at": max(sightings.values())})
    first = [
        {"user": user_id, "address": address, "at": at}
        for (user_id, address), at in sightings.items()
        if (user_id, address) not in known
    ]
    if first:
        conn.execute(_SEEN_FIRST, first)
