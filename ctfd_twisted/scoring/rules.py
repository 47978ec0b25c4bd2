"""What solves are worth, and who stands where (docs/rules.md). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

#: The value functions that follow the number of solves; every other name leaves a value as it was set.
DECAYING: Final = frozenset({"linear", "logarithmic"})

#: Values live in 32-bit columns.
_LARGEST: Final = 2**31 - 1
_SMALLEST: Final = -(2**31)

#: Where a row of old data has no date, it counts as the earliest there is.
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


def linear(initial: int, minimum: int, decay: int, solves: int) -> int:
    """Points after *solves* solves where each after the first takes *decay* points off, down to *minimum*."""
    return _within(minimum, initial - decay * _further(solves))


def logarithmic(initial: int, minimum: int, decay: int, solves: int) -> int:
    """Points after *solves* solves on the parabola that reaches *minimum* with solve number *decay* + 1.

    CTFd's name for it; there is no logarithm in it. The arithmetic is that of CTFd, in floating point, so that a
    database taken over from there keeps every value.
    """
    slope = (minimum - initial) / ((decay or 1) ** 2)
    return _within(minimum, slope * _further(solves) ** 2 + initial)


def _further(solves: int) -> int:
    # The first solver earns the full value, so the first solve does not count against it.
    return max(solves - 1, 0)


def _within(minimum: int, points: float) -> int:
    return min(max(math.ceil(points), minimum, _SMALLEST), _LARGEST)


def ordinal(place: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``: *place* as the profiles show it."""
    if place % 100 in {11, 12, 13}:
        return f"{place}th"
    return f"{place}{({1: 'st', 2: 'nd', 3: 'rd'}).get(place % 10, 'th')}"


class Points(msgspec.Struct, frozen=True):
    """Some points of one account: of one row, or the sum over several.

    ``last`` is the instant of the newest row and ``row_id`` the largest id among them. Rows that are worth nothing are
    left out by whoever collects them.
    """

    account_id: int
    score: int
    last: datetime
    row_id: int


def added_up(parts: Iterable[Points]) -> list[Points]:
    """One ``Points`` per account, over all *parts*; their order does not matter."""
    sums: dict[int, Points] = {}
    for part in parts:
        known = sums.get(part.account_id)
        sums[part.account_id] = (
            part
            if known is None
            else Points(
                part.account_id,
                known.score + part.score,
                max(known.last, part.last),
                max(known.row_id, part.row_id),
            )
        )
    return list(sums.values())


def ranked(sums: Iterable[Points]) -> list[Points]:
    """*sums* from the first place to the last.

    Higher score first. Among equals the one who has had this score for longer, which is the one whose newest row is
    older; then the smaller newest row id, then the smaller account id. No places are shared.
    """
    return sorted(sums, key=lambda points: (-points.score, points.last, points.row_id, points.account_id))
