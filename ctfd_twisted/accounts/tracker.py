"""Addresses of players, remembered without making anybody wait (accounts-and-sessions.md section 3)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.throttle import Throttle
from ctfd_twisted.accounts.tracking import Place, record_sightings
from ctfd_twisted.db.behind import WriteBehind

#: An address that only reads is noted again after this.
AGAIN: Final = timedelta(hours=1)


class AddressTracker:
    """Notes who was seen where."""

    def __init__(self, behind: WriteBehind) -> None:
        self._known: Throttle[Place] = Throttle(AGAIN)
        self._sightings = behind.notes(record_sightings)

    def saw(self, player: Player, address: str, now: datetime, *, writes: bool) -> None:
        """Note that *player* was at *address*; a request that *writes* always counts, another once an hour."""
        place = (player.id, address)
        if self._known.due(place, now) or writes:
            self._sightings.add(place, now)
