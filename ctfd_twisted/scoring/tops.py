"""The first places, kept in memory like the board that they are taken from (record 80)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred, succeed

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import concerns
from ctfd_twisted.db.snapshot import KeyedSnapshots, Slot
from ctfd_twisted.http.shared import Press, Shared
from ctfd_twisted.scoring.accounts import TEAMS, AccountKind
from ctfd_twisted.scoring.live_board import Board
from ctfd_twisted.scoring.news import BOARD_TOPICS, POINTS, teams_in, users_in
from ctfd_twisted.scoring.scoreboard import History, Top, members, read_existing, read_histories, top_answer
from ctfd_twisted.scoring.store import Standing

#: After which commits any history may be another; of one that only adds, those whose points it names.
_TOPICS: Final = frozenset(BOARD_TOPICS) - {POINTS, "newcomers"}
#: So many answers about one board are kept, for as many brackets and counts.
_KEPT: Final = 100
#: So many histories are kept: those of the first of each bracket that is asked for.
_HISTORIES: Final = 2000


class _Basis(NamedTuple):
    """What all histories that are kept are made of: which challenges exist and follow their solves, and the board's."""

    existing: frozenset[int]
    following: frozenset[int]
    kind: AccountKind
    freeze: datetime | None


class Tops:
    """The answers about the first places of the newest board that was asked about.

    What an account did changes with its own solves alone, so that is read again only then. What it is worth is put in
    anew for each board, and comes from there.
    """

    def __init__(self, db: Database) -> None:
        #: Makes the answers.
        self.press = Press()
        self._db = db
        self._existing = KeyedSnapshots(db, db.bus, read_existing, _TOPICS, limit=4)
        self._basis: _Basis | None = None
        self._histories: dict[int, History] = {}
        # Of whom something was heard while histories are being read, which may know nothing of it; None: of everybody.
        self._readings: list[set[int | None]] = []
        self._board: Board | None = None
        self._slots: dict[tuple[Top, int], Slot[Shared]] = {}
        db.bus.subscribe(self._heard)

    def ready(self, wanted: Top, count: int) -> Shared | None:
        """The answer about the first *count*, if all of it is in memory."""
        slot = self._slots.get((wanted, count)) if wanted.board is self._board else None
        if slot is not None:
            return slot.value
        existing = self._existing.ready(wanted.released)
        if existing is None:
            return None
        rows, known = wanted.standings(count), self._known(wanted, existing)
        if any(row.account_id not in known for row in rows):
            return None
        shared = self._slot(wanted, count).value = self._made(wanted, rows, known)
        return shared

    def get(self, wanted: Top, count: int) -> Deferred[Shared]:
        """The same, with what is missing read first."""
        shared = self.ready(wanted, count)
        if shared is not None:
            return succeed(shared)
        return self._slot(wanted, count).get(lambda: Deferred.fromCoroutine(self._read(wanted, count)))

    def _slot(self, wanted: Top, count: int) -> Slot[Shared]:
        if wanted.board is not self._board or len(self._slots) > _KEPT:
            self._board, self._slots = wanted.board, {}
        return self._slots.setdefault((wanted, count), Slot())

    def _known(self, wanted: Top, existing: frozenset[int]) -> dict[int, History]:
        """The histories that are kept and good for *wanted*."""
        board = wanted.board
        basis = _Basis(existing, frozenset(board.worth), board.kind, board.freeze)
        if basis != self._basis or len(self._histories) > _HISTORIES:
            self._basis, self._histories = basis, {}
        return self._histories

    async def _read(self, wanted: Top, count: int) -> Shared:
        existing = await self._existing.get(wanted.released)
        rows, kept = wanted.standings(count), self._known(wanted, existing)
        known = {row.account_id: kept[row.account_id] for row in rows if row.account_id in kept}
        missing = [row for row in rows if row.account_id not in known]
        heard: set[int | None] = set()
        self._readings.append(heard)
        try:
            found = await self._db.build(read_histories, wanted, missing, existing)
        finally:
            # By what it is: another may have heard the same.
            self._readings = [other for other in self._readings if other is not heard]
        if None not in heard and kept is self._histories:
            kept |= {account_id: history for account_id, history in found.items() if account_id not in heard}
        return self._made(wanted, rows, known | found)

    def _made(self, wanted: Top, rows: Sequence[Standing], histories: Mapping[int, History]) -> Shared:
        told = [histories[row.account_id].told(row.score, wanted.board.worth) for row in rows]
        return self.press.make(top_answer(members(told)), b"".join([line.mark for line in told]))

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, _TOPICS):
            self._basis, self._histories = None, {}
            # Not all of these make another board: a module that is closed takes names out of the answers alone.
            self._board, self._slots = None, {}
            for heard in self._readings:
                heard.add(None)
            return
        teams = self._basis is not None and self._basis.kind is TEAMS
        for account_id in teams_in(topics) if teams else users_in(topics):
            self._histories.pop(account_id, None)
            for heard in self._readings:
                heard.add(account_id)
