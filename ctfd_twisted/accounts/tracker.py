"""Addresses of players, remembered without making anybody wait (accounts-and-sessions.md section 3)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.throttle import Throttle
from ctfd_twisted.accounts.tracking import Sighting, record_sightings
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Busy

#: An address that only reads is noted again after this.
AGAIN: Final = timedelta(hours=1)
#: Sightings are written together, this many seconds after the first of them. CTFd writes one with every attempt; here a
#: burst of attempts must not pay a second transaction each.
TOGETHER: Final = 5.0


class AddressTracker(Service):
    """Notes who was seen where: at once where it is new, together with others where only the time changes."""

    _log = Logger()

    def __init__(self, db: Database, clock: IReactorTime) -> None:
        self._db = db
        self._clock = clock
        self._known: Throttle[tuple[int, str]] = Throttle(AGAIN)
        self._waiting: dict[tuple[int, str], datetime] = {}
        self._writing: set[Deferred[None]] = set()
        self._timer: IDelayedCall | None = None

    def saw(self, player: Player, address: str, now: datetime, *, writes: bool) -> None:
        """Note that *player* was at *address*; a request that *writes* always counts, another once an hour."""
        place = (player.id, address)
        new = self._known.due(place, now)
        if not new and not writes:
            return
        self._waiting[place] = now
        if new:
            self._write()
        elif self._timer is None:
            self._timer = self._clock.callLater(TOGETHER, self._write)

    def stopService(self) -> Deferred[list[None]]:
        """Write what is still to be written."""
        super().stopService()
        self._write()
        return gatherResults(self._writing)

    def _write(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if not self._waiting:
            return
        together = [Sighting(user_id, address, at) for (user_id, address), at in self._waiting.items()]
        self._waiting = {}
        try:
            writing = self._db.run(record_sightings, together)
        except Busy:
            return  # the next request of each is noted again
        self._writing.add(writing)
        writing.addErrback(lambda failure: self._log.failure("addresses could not be noted", failure))
        writing.addCallback(lambda _: self._writing.discard(writing))
