"""Who has opened which challenge, for the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, bindparam, select, tuple_

from ctfd_twisted.accounts.tables import tracking
from ctfd_twisted.accounts.tracking import leave_traces
from ctfd_twisted.db.gathered import gathered, pairs

#: The kind of tracking row that says that a player has opened a challenge.
OPENED: Final = "challenges.open"

_KNOWN: Final = select(gathered(tracking.c.user_id, tracking.c.target)).where(
    # Named apart, the users are found by the index, which SQLite does not do by pairs.
    tracking.c.user_id.in_(bindparam("users", expanding=True)),
    tuple_(tracking.c.user_id, tracking.c.target).in_(bindparam("looks", expanding=True)),
    tracking.c.type == OPENED,
)


class Look(msgspec.Struct, frozen=True):
    """From where a challenge was opened, and when."""

    address: str
    at: datetime


def record_opened(conn: Connection, looks: Mapping[tuple[int, int], Look]) -> None:
    """Remember, by user and challenge, who has opened what for the first time; later looks leave nothing."""
    wanted = {"users": list({user_id for user_id, _ in looks}), "looks": list(looks)}
    known = {(user_id, int(target)) for user_id, target in pairs(conn.scalar(_KNOWN, wanted))}
    leave_traces(
        conn,
        [
            {"user": user_id, "type": OPENED, "ip": look.address, "target": challenge_id, "date": look.at}
            for (user_id, challenge_id), look in looks.items()
            if (user_id, challenge_id) not in known
        ],
    )
