"""Content that may belong to no row: written down before it comes and when it is to go, forgotten when that is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from sqlalchemy import Connection, delete, insert, or_, select, update

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.files.tables import loose

#: How long content may be on its way to its location before whoever brings it is taken for dead: once it has come from
#: the client, this is one move of a file, or a bucket's copying of one.
COMING: Final = timedelta(hours=1)


def loosen(conn: Connection, locations: Collection[str], since: datetime | None = None) -> None:
    """Write down that the content at *locations* may soon belong to no row, or, without *since*, that it does not."""
    for location in sorted(set(locations)):
        named = loose.c.location == location
        if not conn.execute(update(loose).where(named).values(since=since)).rowcount:
            conn.execute(insert(loose).values(location=location, since=since))


def settle(conn: Connection, locations: Collection[str]) -> None:
    """Forget *locations*: their content belongs to rows, or is gone."""
    conn.execute(delete(loose).where(loose.c.location.in_(sorted(set(locations)))))


def abandoned(conn: Connection, now: datetime, at_most: int) -> tuple[str, ...]:
    """Some locations that nobody is about to settle any more."""
    old = or_(loose.c.since.is_(None), loose.c.since < now - COMING)
    return tuple(conn.execute(select(loose.c.location).where(old).order_by(loose.c.location).limit(at_most)).scalars())


class Leftover(msgspec.Struct, frozen=True):
    """Content that no row names any more; ``alone`` says that none names anything else in its directory either."""

    location: str
    alone: bool


def leftovers(conn: Connection, locations: Sequence[str]) -> tuple[Leftover, ...]:
    """Those of *locations* that no row names any more: CTFd may have named one twice, or a new file has come to it."""
    found = []
    for location in locations:
        if conn.execute(select(files.c.id).where(files.c.location == location).limit(1)).first() is None:
            directory = location.partition("/")[0] + "/"
            beside = select(files.c.id).where(files.c.location.startswith(directory, autoescape=True)).limit(1)
            coming = select(loose.c.location).where(
                loose.c.location.startswith(directory, autoescape=True),
                loose.c.since.is_not(None),
                loose.c.location.not_in(locations),
            )
            alone = all(conn.execute(other).first() is None for other in (beside, coming))
            found.append(Leftover(location, alone))
    return tuple(found)
