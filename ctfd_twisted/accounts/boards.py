"""Who stands in which place, as profiles word it."""

from __future__ import annotations

from collections.abc import Mapping

from ctfd_twisted.scoring.live_board import BoardKeeper
from ctfd_twisted.scoring.rules import ordinal


class Boards:
    """The places of all accounts, and of all people, as the public knows them."""

    def __init__(self, board: BoardKeeper) -> None:
        self._board = board

    async def account_place(self, account_id: int | None) -> str | None:
        """Return the place (``1st``) of an account; ``None`` where it does not stand on the board."""
        return _worded((await self._board.get()).places, account_id)

    async def person_place(self, user_id: int) -> str | None:
        """Return the place of a user among users, also where teams play."""
        return _worded((await self._board.get()).people, user_id)


def _worded(places: Mapping[int, int], account_id: int | None) -> str | None:
    place = None if account_id is None else places.get(account_id)
    return None if place is None else ordinal(place)
