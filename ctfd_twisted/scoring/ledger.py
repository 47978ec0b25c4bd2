"""What every account has, kept up to date with single solves and awards instead of added up anew. Pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from ctfd_twisted.scoring.rules import Points

#: So many are taken out of the order and put into it one by one; with more it is gone through once.
FEW: Final = 16

_Key = tuple[int, datetime, int, int]


def _key(points: Points) -> _Key:
    """Where an account stands: see :func:`ctfd_twisted.scoring.rules.ranked`."""
    return -points.score, points.last, points.row_id, points.account_id


class Ledger:
    """The points of each account, in the order of the board.

    :param points: what each account has to begin with.
    :param worth: challenges whose value follows their solves, with the value that is in *points*.
    :param solvers: of each of these, the accounts that have its value.

    A challenge that is not in *worth* may move no points but by new rows; whoever changes its value makes a new ledger.
    """

    def __init__(
        self, points: Iterable[Points], worth: Mapping[int, int], solvers: Mapping[int, Iterable[int]]
    ) -> None:
        self._points = {entry.account_id: entry for entry in points}
        self._worth = dict(worth)
        self._solvers = {challenge: set(solvers.get(challenge, ())) for challenge in worth}
        self._keys = {entry.account_id: _key(entry) for entry in self._points.values()}
        self._order = sorted(self._keys.values())
        self._moved: set[int] = set()

    @property
    def following(self) -> frozenset[int]:
        """The challenges whose value follows their solves."""
        return frozenset(self._worth)

    def score(self, account_id: int) -> int:
        """The points of an account; 0 of one that has none."""
        points = self._points.get(account_id)
        return 0 if points is None else points.score

    def revalue(self, values: Mapping[int, int]) -> bool:
        """Let the challenges that follow their solves be worth *values*.

        False, with nothing changed, where that can't be added: another set of challenges follows its solves now, or one
        became worth nothing or was, which moves instants as well as points.
        """
        if values.keys() != self._worth.keys():
            return False
        changed = {number: value for number, value in values.items() if value != self._worth[number]}
        if any(value == 0 or self._worth[number] == 0 for number, value in changed.items()):
            return False
        for number, value in changed.items():
            more = value - self._worth[number]
            for account_id in self._solvers[number]:
                known = self._points.get(account_id)
                if known is not None:
                    self._set(Points(account_id, known.score + more, known.last, known.row_id))
            self._worth[number] = value
        return True

    def knows(self, solved: Mapping[int, Iterable[int]]) -> bool:
        """Whether all of *solved*, of challenges that follow their solves, is in here."""
        return all(self._solvers[challenge].issuperset(accounts) for challenge, accounts in solved.items())

    def put(self, account_ids: Iterable[int], points: Iterable[Points], solved: Mapping[int, Iterable[int]]) -> None:
        """Take over what *account_ids* have by now: *points*, and who of them *solved* each challenge that follows."""
        found = {entry.account_id: entry for entry in points}
        for account_id in account_ids:
            entry = found.get(account_id)
            if entry is not None:
                self._set(entry)
            elif self._points.pop(account_id, None) is not None:
                self._moved.add(account_id)
        for challenge, accounts in solved.items():
            self._solvers[challenge].update(accounts)

    def _set(self, points: Points) -> None:
        if self._points.get(points.account_id) != points:
            self._points[points.account_id] = points
            self._moved.add(points.account_id)

    def moved(self) -> frozenset[int]:
        """The accounts whose points have changed since this was asked last; the order is right from now on."""
        moved = frozenset(self._moved)
        if not moved:
            return moved
        left = [self._keys.pop(account_id) for account_id in moved if account_id in self._keys]
        came = {account_id: _key(self._points[account_id]) for account_id in moved if account_id in self._points}
        if len(moved) <= FEW:
            for key in left:
                del self._order[bisect_left(self._order, key)]
            for key in came.values():
                insort(self._order, key)
        else:
            self._order = [key for key in self._order if key[3] not in moved]
            self._order += came.values()
            self._order.sort()  # two runs that are in order already, or nearly
        self._keys |= came
        self._moved.clear()
        return moved

    def order(self) -> list[int]:
        """The ids of everybody from the first place to the last."""
        self.moved()
        return [key[3] for key in self._order]

    def ranked(self) -> list[Points]:
        """Everybody from the first place to the last."""
        points = self._points
        return [points[account_id] for account_id in self.order()]
