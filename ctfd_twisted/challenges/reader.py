"""The challenges as each caller may see them, out of memory wherever possible.

Whatever shows something of a challenge (lists, details, hints, files, solutions, ratings) asks here, so that there is
one decision about who sees what.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec

from ctfd_twisted.challenges.catalogue import TOPICS, Catalogue, Entry, read_catalogue
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.own import Own, Who, read_own
from ctfd_twisted.challenges.rules import Reach, Viewer, reach
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.call import Call

V = TypeVar("V")

#: So many players' own facts, and so many finished answers of one kind, are kept at a time.
KEPT: Final = 10_000
_NOTHING: Final = Own()


class View(msgspec.Struct, frozen=True):
    """The catalogue through one caller's eyes."""

    catalogue: Catalogue
    own: Own
    viewer: Viewer
    is_admin: bool
    now: datetime

    def reach(self, entry: Entry) -> Reach:
        """How near the caller comes to a challenge; administrators come everywhere."""
        return Reach.OPEN if self.is_admin else reach(entry.gate, self.now, self.viewer, self.catalogue.entries)

    def find(self, challenge_id: str | int) -> Entry:
        """The challenge of that id; raises ``NotFound`` where there is none, and for what is no id."""
        number = row_id(challenge_id) if isinstance(challenge_id, str) else challenge_id
        entry = self.catalogue.entries.get(number)
        if entry is None:
            raise NotFound
        return entry

    def accessible(self, challenge_id: str | int) -> Entry:
        """The same for what hangs on a challenge; ``NotFound`` also where the caller may not know of it."""
        entry = self.find(challenge_id)
        if not self.reach(entry).accessible:
            raise NotFound
        return entry


class ChallengeReader:
    """The catalogue and what is each player's own, as of the last commit that touched them."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._catalogue = Snapshot(db, bus, read_catalogue, TOPICS)
        self._own = KeyedSnapshots(db, bus, read_own, {"config"}, topics_of=Who.topics, limit=KEPT)

    def ready(self, call: Call) -> View | None:
        """The view of *call* if all of it is in memory."""
        catalogue = self._catalogue.ready()
        own = _NOTHING if call.player is None else self._own.ready(who_asks(call))
        return None if catalogue is None or own is None else _view(call, catalogue, own)

    async def get(self, call: Call) -> View:
        """The view of *call*."""
        own = _NOTHING if call.player is None else await self._own.get(who_asks(call))
        return _view(call, await self._catalogue.get(), own)


def who_asks(call: Call) -> Who:
    """Under which key the caller's own facts are kept; the caller is signed in."""
    player = call.require_player()
    return Who(player.id, player.team_id)


def require_account(call: Call) -> None:
    """Where teams play, a player needs a team to see challenges; raises ``Forbidden``."""
    player = call.player
    if player is not None and not player.is_admin and call.competition.teams and player.team_id is None:
        raise Forbidden


def _view(call: Call, catalogue: Catalogue, own: Own) -> View:
    viewer = Viewer(own.solved)
    if call.player is not None and catalogue.audiences:
        viewer = Viewer(own.solved, catalogue.modules_of(call.player.account_id(call.competition)))
    return View(catalogue, own, viewer, call.is_admin, call.now)


class Memo(Generic[V]):
    """Finished answers, each good as long as what it was made of is the same, and until an instant."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[tuple[Any, ...], datetime | None, V]] = OrderedDict()

    def get(self, key: Hashable, basis: tuple[Any, ...], now: datetime) -> V | None:
        """The answer kept under *key*, if it was made of *basis* and is still good at *now*."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        made_of, until, value = kept
        # What is the same object needs no comparison, which is the common case; equal parts of a rebuilt whole do.
        if made_of != basis or (until is not None and now >= until):
            del self._kept[key]
            return None
        return value

    def put(self, key: Hashable, basis: tuple[Any, ...], until: datetime | None, value: V) -> V:
        """Keep *value* and return it."""
        self._kept[key] = (basis, until, value)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return value
