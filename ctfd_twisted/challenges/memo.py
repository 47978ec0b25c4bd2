"""Finished answers, kept while they are good and there is room. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, TypeVar

V = TypeVar("V")

#: What the answers of one memo may weigh together, in bytes.
ROOM: Final = 16 * 2**20
#: What key and basis of an answer weigh beside it, about.
_BESIDE: Final = 1024


class _Kept(NamedTuple, Generic[V]):
    basis: tuple[Any, ...]
    until: datetime | None
    value: V
    weight: int


class Memo(Generic[V]):
    """Finished answers, each good as long as what it was made of is the same, and until an instant.

    Those that were not asked for longest go first where they would weigh more than *room* bytes by *weigh*.
    """

    def __init__(self, weigh: Callable[[V], int], room: int = ROOM) -> None:
        self._weigh = weigh
        self._room = room
        self._weight = 0
        self._kept: OrderedDict[Hashable, _Kept[V]] = OrderedDict()

    def get(self, key: Hashable, basis: tuple[Any, ...], now: datetime) -> V | None:
        """The answer kept under *key*, if it was made of *basis* and is still good at *now*."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        # What is the same object needs no comparison, which is the common case; equal parts of a rebuilt whole do.
        if kept.basis != basis or (kept.until is not None and now >= kept.until):
            self._forget(key)
            return None
        self._kept.move_to_end(key)
        return kept.value

    def put(self, key: Hashable, basis: tuple[Any, ...], until: datetime | None, value: V) -> V:
        """Keep *value* and return it."""
        self._forget(key)
        kept = self._kept[key] = _Kept(basis, until, value, self._weigh(value) + _BESIDE)
        self._weight += kept.weight
        while self._weight > self._room:
            self._forget(next(iter(self._kept)))
        return value

    def _forget(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._weight -= kept.weight
