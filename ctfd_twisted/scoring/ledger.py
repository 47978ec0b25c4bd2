"""What every account has, kept up to date with single solves and awards instead of added up anew. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from ctfd_twisted.scoring.gains import Gained, Seen
from ctfd_twisted.scoring.rules import LONG_AGO, Points

#: So many are taken out of the order and put into it one by one; with more it is gone through once.
FEW: Final = 16

_UNSEEN: Final = Seen()

#: Where an account stands, see :func:`ctfd_twisted.scoring.rules.ranked`: less its score, its newest row's instant and
#: id, and who it is.
Key = tuple[int, datetime, int, int]


class Ledger:
    """The points of each account, in the order of the board.

    :param points: what each account has to begin with.
    :param worth: challenges whose value follows their solves, with the value that is in *points*.
    :param solvers: of each of these, the accounts that have its value.
    :param seen: which rows of each account are in *points*.

    A challenge that is not in *worth* may move no points but by new rows; whoever changes its value makes a new ledger.
    """

    def __init__(
        self,
        points: Iterable[Points],
        worth: Mapping[int, int],
        solvers: Mapping[int, Iterable[int]],
        seen: Mapping[int, Seen],
    ) -> None:
        self._keys = {entry.account_id: _key(entry) for entry in points}
        self.worth: Mapping[int, int] = dict(worth)
        self._solvers = {challenge: set(solvers.get(challenge, ())) for challenge in worth}
        self._seen = dict(seen)
        self._order = sorted(self._keys.values())
        # The keys of accounts that have moved, as they are in the order; None of one that is not in it.
        self._left: dict[int, Key | None] = {}

    def score(self, account_id: int) -> int:
        """The points of an account; 0 of one that has none."""
        key = self._keys.get(account_id)
        return 0 if key is None else -key[0]

    def revalue(self, values: Mapping[int, int]) -> bool:
        """Let those of *values* that follow their solves be worth that.

        False, with nothing changed, where that can't be added: one became worth nothing or was, which moves instants as
        well as points.
        """
        worth = self.worth
        changed = {number: value for number, value in values.items() if worth.get(number, value) != value}
        if any(value == 0 or worth[number] == 0 for number, value in changed.items()):
            return False
        keys, left = self._keys, self._left
        for number, value in changed.items():
            less = worth[number] - value
            for account_id in self._solvers[number]:
                key = keys.get(account_id)
                if key is not None:
                    left.setdefault(account_id, key)
                    keys[account_id] = (key[0] + less, key[1], key[2], account_id)
        if changed:
            self.worth = {**worth, **changed}
        return True

    def knows(self, solved: Mapping[int, Iterable[int]]) -> bool:
        """Whether all of *solved*, of challenges that follow their solves, is in here."""
        return all(self._solvers[challenge].issuperset(accounts) for challenge, accounts in solved.items())

    def seen(self, account_id: int) -> Seen:
        """What is known of an account's rows."""
        return self._seen.get(account_id, _UNSEEN)

    def add(self, account_id: int, gained: Gained, freeze: datetime | None) -> bool:
        """Add what an account has gained before *freeze*; False where it does not add up."""
        if gained.seen is None:
            return False
        self._seen[account_id] = gained.seen
        before = self._keys.get(account_id)
        score, last, row_id = (0, LONG_AGO, 0) if before is None else (-before[0], before[1], before[2])
        for row in gained.rows:
            value, date = row.value, row.date or LONG_AGO
            if row.challenge_id is not None and row.challenge_id in self.worth:
                value = self.worth[row.challenge_id]
                self._solvers[row.challenge_id].add(account_id)
            if value and (freeze is None or date < freeze):
                score, last, row_id = score + value, max(last, date), max(row_id, row.id)
        if row_id:
            self._set(account_id, (-score, last, row_id, account_id))
        return True

    def put(self, account_ids: Iterable[int], points: Iterable[Points]) -> None:
        """Let *account_ids* have *points*, and nothing else."""
        found = {entry.account_id: _key(entry) for entry in points}
        for account_id in account_ids:
            self._set(account_id, found.get(account_id))

    def _set(self, account_id: int, key: Key | None) -> None:
        before = self._keys.get(account_id)
        if before == key:
            return
        self._left.setdefault(account_id, before)
        if key is None:
            del self._keys[account_id]
        else:
            self._keys[account_id] = key

    def moved(self) -> frozenset[int]:
        """The accounts whose points have changed since this was asked last; the order is right from now on."""
        left, self._left = self._left, {}
        if not left:
            return frozenset()
        keys = self._keys
        came = [keys[account_id] for account_id in left if account_id in keys]
        # A new list, because who was given the last one goes on to look at it.
        if len(left) <= FEW:
            order = self._order.copy()
            for key in left.values():
                if key is not None:
                    del order[bisect_left(order, key)]
            for key in came:
                insort(order, key)
        else:
            order = [key for key in self._order if key[3] not in left]
            order += sorted(came)
            order.sort()  # two runs that are in order already
        self._order = order
        return frozenset(left)

    def order(self) -> Sequence[Key]:
        """Where everybody stands, from the first place to the last; it is not changed any more."""
        self.moved()
        return self._order


def _key(points: Points) -> Key:
    return -points.score, points.last, points.row_id, points.account_id
