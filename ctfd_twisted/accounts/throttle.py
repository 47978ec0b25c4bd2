"""Letting something happen at most so often per key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: So many keys are remembered; of the others, forgotten ones, it happens once too often.
KEPT: Final = 50_000


class Throttle(Generic[K]):
    """Remembers per key when it was last due; the memory is one node's, and begins empty."""

    def __init__(self, every: timedelta) -> None:
        self._every = every
        self._last: OrderedDict[K, datetime] = OrderedDict()

    def due(self, key: K, now: datetime) -> bool:
        """Return whether *key* has not been due for the interval; if so, it was due now."""
        last = self._last.get(key)
        if last is not None and now - last < self._every:
            return False
        self._last[key] = now
        self._last.move_to_end(key)
        if len(self._last) > KEPT:
            self._last.popitem(last=False)
        return True
