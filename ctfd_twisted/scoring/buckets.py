"""How scores are spread, in buckets of equal width. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def bucketed(scores: Iterable[int], size: int) -> Mapping[int, int]:
    """How many of *scores*, which rise, are in each bucket, by the bucket's upper bound; empty ones are absent.

    CTFd's walk, whose clients draw what comes of it: a score beyond the present bucket opens the next one and is
    counted there, though it may lie beyond that as well; the first of the later buckets goes on to be the lower bound.
    """
    counts: dict[int, int] = {}
    number, bottom, top = 1, 0, size
    for score in scores:
        if not (bottom <= score <= top or score <= 0):
            number += 1
            bottom, top = size, size * number
        counts[top] = counts.get(top, 0) + 1
    return counts
