"""The public board as the pages read it: one snapshot for everybody."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.scoring.store import Standing, standings

#: After which commits the board may look different.
BOARD_TOPICS: Final = ("standings", "challenges", "accounts", "config")


def read_board(conn: Connection) -> tuple[Standing, ...]:
    """Every account that stands on the board as the public knows it, first place first."""
    return standings(conn, read_competition(conn))
