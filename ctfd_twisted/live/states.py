"""Sources of what is in some state, of which only the newest matters: the board, and who holds which hill."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.http.answers import encode
from ctfd_twisted.koth.recording import KING
from ctfd_twisted.live.frames import frame
from ctfd_twisted.live.news_store import HillTold, read_hill_states
from ctfd_twisted.live.ranks import changed, rows, shown, version
from ctfd_twisted.live.sources import snapshot
from ctfd_twisted.live.views import KOTH, SCOREBOARD, UNKNOWN, Step, Steps, View, sights
from ctfd_twisted.scoring.live_board import BoardKeeper
from ctfd_twisted.scoring.news import BOARD_TOPICS
from ctfd_twisted.scoring.store import Standing

#: So many changes of the board are kept for those who come back: half a minute of a rush.
_KEPT: Final = 64
_BOARD: Final = frozenset({*BOARD_TOPICS, EVERYTHING})
_HILLS: Final = frozenset({"hills", "standings", "challenges", "accounts", "newcomers", "config", EVERYTHING})


class BoardSource:
    """The board as the public sees it; a place is the name of its content, so that it means the same on every node."""

    name = SCOREBOARD

    def __init__(
        self, board: BoardKeeper, competition: Callable[[], Awaitable[Competition]], now: Callable[[], datetime]
    ) -> None:
        self._board = board
        self._competition = competition
        self._now = now
        self._last: object = None
        self._standings: tuple[Standing, ...] = ()
        self._place = UNKNOWN
        self._whole = snapshot(self.name, UNKNOWN, "rows", b"[]")
        self._steps: deque[tuple[str, Step]] = deque(maxlen=_KEPT)
        self._visible: Mapping[View, bool] = {}

    def heard(self, topics: frozenset[str]) -> bool:
        """See ``Source``."""
        return not topics.isdisjoint(_BOARD)

    def look_anew(self) -> None:
        """Nothing but whether it is shown at all, which every reading looks at."""

    async def read(self) -> Steps:
        """See ``Source``."""
        competition = await self._competition()
        board = await self._board.get()
        visible = {view: sight.scores for view, sight in sights(competition, self._now()).items()}
        before, self._visible = self._visible, visible
        step = self._advance(board.standings) if board is not self._last else None
        self._last = board
        steps: dict[View, Sequence[Step]] = {}
        for view, sees in visible.items():
            if before.get(view, sees) != sees:
                steps[view] = (self._snapshot(view),)
            elif sees and step is not None:
                steps[view] = (step,)
        return steps

    def _advance(self, standings: tuple[Standing, ...]) -> Step | None:
        """Take *standings* for the board, and return the event that tells of it; None where it is the same."""
        data = rows(standings)
        old, place = self._place, version(data)
        if place == old:
            return None
        change = changed(self._standings, standings) if old != UNKNOWN else None
        self._standings, self._place = standings, place
        # Kept, because all who begin to listen are sent the same bytes.
        step = self._whole = snapshot(self.name, place, "rows", data)
        if change is not None:
            told = {"rows": [shown(row) for row in change.moved], "gone": change.gone}
            step = Step(place, frame("scoreboard", encode(told)))
        self._steps.append((old, step))
        return step

    def place(self, view: View) -> str:
        """See ``Source``. Who does not see the board was told nothing of it."""
        return self._place if self._visible.get(view) else UNKNOWN

    def since(self, place: str | None, view: View) -> Sequence[Step]:
        """See ``Source``."""
        if place is not None and place == self.place(view) != UNKNOWN:
            return ()
        froms = [old for old, _ in self._steps]
        if place in froms and place != UNKNOWN and self._visible.get(view):
            # The last time that the board was like that, should it have been so twice.
            begin = len(froms) - 1 - froms[::-1].index(place)
            return [step for _, step in list(self._steps)[begin:]]
        return (self._snapshot(view),)

    def _snapshot(self, view: View) -> Step:
        return self._whole if self._visible.get(view) else snapshot(self.name, UNKNOWN, "rows", None)


class _Hills(NamedTuple):
    """What a view sees of hills, and the name of that content; ``told`` is None where it sees none."""

    place: str
    told: tuple[HillTold, ...] | None


class HillsSource:
    """Who holds which hill; a place is the name of what a view sees of that."""

    name = KOTH

    def __init__(self, db: Database, now: Callable[[], datetime]) -> None:
        self._db = db
        self._now = now
        self._known: Mapping[View, _Hills] = {}

    def heard(self, topics: frozenset[str]) -> bool:
        """See ``Source``."""
        return not topics.isdisjoint(_HILLS) or any(topic.startswith(f"{KING}:") for topic in topics)

    def look_anew(self) -> None:
        """Every reading does."""

    async def read(self) -> Steps:
        """See ``Source``."""
        found = await self._db.read(read_hill_states, self._now())
        known = {view: _named(told) for view, told in found.items()}
        before, self._known = self._known, known
        return {view: self._news(before[view], hills, view) for view, hills in known.items() if view in before}

    def _news(self, before: _Hills, hills: _Hills, view: View) -> Sequence[Step]:
        if before.place == hills.place:
            return ()
        if before.told is None or hills.told is None:
            return (self._snapshot(view),)
        old = {hill.challenge_id: hill.data for hill in before.told}
        if not old.keys() <= {hill.challenge_id for hill in hills.told}:
            return (self._snapshot(view),)
        news = [hill for hill in hills.told if old.get(hill.challenge_id) != hill.data]
        # Until the last of them is told, what was told is no state that has a name.
        places = [UNKNOWN] * (len(news) - 1) + [hills.place]
        return [Step(place, frame("koth", hill.data)) for place, hill in zip(places, news, strict=True)]

    def place(self, view: View) -> str:
        """See ``Source``."""
        return self._known[view].place if self._known else UNKNOWN

    def since(self, place: str | None, view: View) -> Sequence[Step]:
        """See ``Source``. There are few hills, so whoever knows another state of them is told all of it."""
        return () if place == self.place(view) != UNKNOWN else (self._snapshot(view),)

    def _snapshot(self, view: View) -> Step:
        told = self._known[view].told
        items = None if told is None else b"[%s]" % b",".join(hill.data for hill in told)
        return snapshot(self.name, self.place(view), "hills", items)


def _named(told: tuple[HillTold, ...] | None) -> _Hills:
    return _Hills(UNKNOWN if told is None else version(b",".join(hill.data for hill in told)), told)
