"""The public board, for everything on this node that shows some of it."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.http.shared import Press
from ctfd_twisted.scoring.live_board import Board, LiveBoard, grow
from ctfd_twisted.scoring.news import POINTS_OF, ROSTERS_OF, SOLVED_OF

#: After which commits the board is made from nothing; a challenge's value tells "standings" when it is changed by hand.
#: Who is new has no points yet.
_TOPICS: Final = ("standings", "accounts", "config")


class PublicBoard:
    """The board as the public knows it after the last commit; addresses on it begin with *root*."""

    def __init__(self, db: Database, root: str) -> None:
        #: Makes the answer of ``GET /api/v1/scoreboard``.
        self.press = Press()
        self._live = GrowingSnapshot(
            db,
            db.bus,
            lambda conn: LiveBoard(conn, root, self.press),
            grow,
            topics=_TOPICS,
            prefixes=(*POINTS_OF, *SOLVED_OF, *ROSTERS_OF),
        )

    def ready(self) -> Board | None:
        """The board, if it is in memory and up to date."""
        live = self._live.ready()
        return None if live is None else live.board

    async def get(self) -> Board:
        """The board, brought up to date first where it has to be."""
        live = await self._live.get()
        return live.board
