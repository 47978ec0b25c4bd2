"""The challenges as each caller may see them, out of memory wherever possible."""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from ctfd_twisted.challenges.catalogue import NEWS, TOPICS, Catalogue, grow_catalogue, read_catalogue
from ctfd_twisted.challenges.own import Own, Who, read_own
from ctfd_twisted.challenges.rules import Viewer
from ctfd_twisted.challenges.view import View
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.snapshot import KeyedSnapshots
from ctfd_twisted.http.call import Call

#: So many accounts' own facts are kept at a time, and what they may weigh together, in bytes: those of some 4,500 who
#: have solved 80 challenges each and tried as many, which is 13 kB.
_ACCOUNTS: Final = 10_000
_ROOM: Final = 64 * 2**20
_NOTHING: Final = Own()


class ChallengeReader:
    """The catalogue and what is each account's own, as of the last commit that touched them."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._catalogue = GrowingSnapshot(db, bus, read_catalogue, grow_catalogue, topics=TOPICS, prefixes=NEWS)
        self._own = KeyedSnapshots(
            db, bus, read_own, (), topics_of=Who.topics, limit=_ACCOUNTS, weigh=_weight, room=_ROOM
        )

    def ready(self, call: Call) -> View | None:
        """The view of *call* if all of it is in memory."""
        catalogue = self._catalogue.ready()
        own = _NOTHING if call.player is None else self._own.ready(who_asks(call))
        return None if catalogue is None or own is None else _view(call, catalogue, own)

    async def get(self, call: Call) -> View:
        """The view of *call*."""
        own = _NOTHING if call.player is None else await self._own.get(who_asks(call))
        return _view(call, await self._catalogue.get(), own)


def _weight(own: Own) -> int:
    """What an account's own facts weigh, about: sets and dicts of small integers, instants of attempts, and reviews."""
    small = 80 * (len(own.solved) + len(own.attempts) + len(own.hints)) + 100 * sum(map(len, own.instants.values()))
    return 1024 + small + sum(300 + getsizeof(rating.review) for rating in own.ratings.values())


def who_asks(call: Call) -> Who:
    """Under which key the caller's own facts are kept; the caller is signed in."""
    return Who.of(call.require_player(), call.competition)


def _view(call: Call, catalogue: Catalogue, own: Own) -> View:
    viewer = Viewer(own.solved)
    if call.player is not None and catalogue.audiences:
        viewer = Viewer(own.solved, catalogue.modules_of(call.player.account_id(call.competition)))
    user_id = None if call.player is None else call.player.id
    return View(catalogue, own, viewer, user_id, call.is_admin, call.now)
