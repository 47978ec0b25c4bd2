"""Who has opened which challenge, for the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, bindparam, exists, insert, literal, select

from ctfd_twisted.accounts.tables import tracking, users

#: The kind of tracking row that says that a player has opened a challenge.
OPENED: Final = "challenges.open"

_TARGET: Final = bindparam("target", type_=tracking.c.target.type)
_KNOWN: Final = exists().where(
    tracking.c.user_id == bindparam("user"), tracking.c.type == OPENED, tracking.c.target == _TARGET
)
# From a SELECT, so that nothing is added for a user who is gone.
_FIRST_LOOK: Final = insert(tracking).from_select(
    ["user_id", "type", "target", "ip", "date"],
    select(
        users.c.id,
        literal(OPENED),
        _TARGET,
        bindparam("address", type_=tracking.c.ip.type),
        bindparam("at", type_=tracking.c.date.type),
    ).where(users.c.id == bindparam("user"), ~_KNOWN),
)


class Look(msgspec.Struct, frozen=True):
    """From where a challenge was opened, and when."""

    address: str
    at: datetime


def record_opened(conn: Connection, looks: Mapping[tuple[int, int], Look]) -> None:
    """Remember, by user and challenge, who has opened what for the first time; later looks leave nothing."""
    conn.execute(
        _FIRST_LOOK,
        [
            {"user": user_id, "target": challenge_id, "address": look.address, "at": look.at}
            for (user_id, challenge_id), look in looks.items()
        ],
    )
