"""Sources of what happens once, and is told in its order: notifications and solves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from ctfd_twisted.content.notices_store import Delivery, NoticeShown, announced
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.http.answers import encode
from ctfd_twisted.live.frames import frame
from ctfd_twisted.live.news_store import KEPT, NoticeKey, read_notices
from ctfd_twisted.live.solves_store import KEPT as KEPT_SOLVES
from ctfd_twisted.live.solves_store import Solves, read_solves
from ctfd_twisted.live.sources import snapshot
from ctfd_twisted.live.views import NOTIFICATIONS, SOLVES, Sight, Step, Steps, View
from ctfd_twisted.scoring.news import SOLVED

_DEFAULT: Final = Delivery()
_NOTICES: Final = frozenset({"notifications", EVERYTHING})
#: After these what was told before may not be told any more, or more of it.
_DIFFERENT: Final = frozenset({"standings", "challenges", "accounts", "newcomers", "config", EVERYTHING})
#: So many solves begin a stream of them.
_BEGIN: Final = 20


class Notices:
    """Notifications, which all may read; a place is an id with the mark of the notification that has it."""

    name = NOTIFICATIONS

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: Mapping[NoticeKey, bytes] = {}
        self._seen: int | None = None
        self._announced: dict[int, Delivery] = {}

    def heard(self, topics: frozenset[str]) -> bool:
        """See ``Source``."""
        for topic in topics:
            said = announced(topic)
            if said is not None:
                notice_id, delivery = said
                self._announced[notice_id] = delivery
        return bool(self._announced) or not topics.isdisjoint(_NOTICES)

    def look_anew(self) -> None:
        """Nothing about them depends on the time."""

    async def read(self) -> Steps:
        """See ``Source``; at the first time nothing that is there already is news."""
        mine, self._announced = self._announced, {}
        before = self._known
        try:
            found = await self._db.read(read_notices, before)
        except Exception:
            # What was announced meanwhile is newer: SQLite may have given an id away again.
            self._announced = {**mine, **self._announced}
            raise
        self._known = {key: before[key] if shown is None else _told(shown, mine.get(key.id, _DEFAULT))
                       for key, shown in found.items() if shown is not None or key in before}  # fmt: skip
        last = max((key.id for key in found), default=0)
        seen, self._seen = last if self._seen is None else self._seen, last
        # A commit may be read before its own node is told of it, and that it was announced comes after.
        new = [key for key in self._known if key not in before and (key.id > seen or key.id in mine)]
        return dict.fromkeys(View, self._steps(new))

    def place(self, view: View) -> str:
        """See ``Source``; the same for all."""
        del view
        return _place([*self._known][-1]) if self._known else "0"

    def since(self, place: str | None, view: View) -> Sequence[Step]:
        """See ``Source``. Who begins now can ask the API for what was before."""
        if place is None:
            return ()
        keys = list(self._known)
        places = [_place(key) for key in keys]
        if place in places:
            return self._steps(keys[places.index(place) + 1 :])
        if place == "0" and len(keys) < KEPT:
            return self._steps(keys)
        everything = b"[%s]" % b",".join(self._known.values())
        return (snapshot(self.name, self.place(view), "notifications", everything),)

    def _steps(self, keys: Sequence[NoticeKey]) -> Sequence[Step]:
        return [Step(_place(key), frame("notification", self._known[key])) for key in keys]


class SolvesSource:
    """Solves, by their numbers in the log of events."""

    name = SOLVES

    def __init__(self, db: Database, now: Callable[[], datetime]) -> None:
        self._db = db
        self._now = now
        self._known = Solves(0, 0, (), {})
        self._began = False
        self._different = False

    def heard(self, topics: frozenset[str]) -> bool:
        """See ``Source``."""
        if topics.isdisjoint(_DIFFERENT):
            return SOLVED in topics
        self._different = True
        return True

    def look_anew(self) -> None:
        """See ``Source``."""
        self._different = True

    async def read(self) -> Steps:
        """See ``Source``. What was told before is read anew only where it may be told differently now."""
        before, different, self._different = self._known, self._different, False
        try:
            found = await self._db.read(read_solves, self._now(), before.floor if different else before.last)
            replaced = found.last < before.last
            if replaced:
                # Another database was put in this one's place, by an import for example.
                found = await self._db.read(read_solves, self._now(), 0)
        except Exception:
            self._different |= different
            raise
        missed = replaced or (self._began and found.floor > before.last)
        self._known = found if different or missed or not self._began else _joined(before, found)
        began, self._began = self._began, True
        if not began:
            return {}
        return {
            view: (self._snapshot(view),)
            if missed or _seen(sight) != _seen(before.sights[view])
            else self._after(before.last, view)
            for view, sight in found.sights.items()
        }

    def place(self, view: View) -> str:
        """See ``Source``; the same for all."""
        del view
        return str(self._known.last)

    def since(self, place: str | None, view: View) -> Sequence[Step]:
        """See ``Source``."""
        number = int(place) if place is not None and place.isdecimal() else -1
        if not self._known.floor <= number <= self._known.last or not self._known.sights[view].scores:
            return (self._snapshot(view),)
        return self._after(number, view)

    def _after(self, number: int, view: View) -> Sequence[Step]:
        return [
            Step(str(told.seq), frame("solve", told.data[view]))
            for told in self._known.solves
            if told.seq > number and view in told.data
        ]

    def _snapshot(self, view: View) -> Step:
        newest = [told.data[view] for told in self._known.solves if view in told.data][-_BEGIN:]
        visible = self._known.sights[view].scores
        return snapshot(self.name, self.place(view), "solves", b"[%s]" % b",".join(newest) if visible else None)


def _joined(before: Solves, found: Solves) -> Solves:
    """The newest of both that are kept."""
    together = (*before.solves, *found.solves)
    kept = together[-KEPT_SOLVES:]
    floor = before.floor if len(together) == len(kept) else together[-KEPT_SOLVES - 1].seq
    return Solves(floor, found.last, kept, found.sights)


def _seen(sight: Sight) -> tuple[object, ...]:
    """What of a sight decides which solves are told at all."""
    return sight.scores, sight.until


def _told(shown: NoticeShown, how: Delivery) -> bytes:
    return encode({**shown, "type": how.type, "sound": how.sound})


def _place(key: NoticeKey) -> str:
    return f"{key.id}:{key.mark}"
