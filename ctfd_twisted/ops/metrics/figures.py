"""What is counted in a process, and how it is told. Pure; changed in the reactor's thread alone, so without a lock.

The library of Prometheus takes a lock and two objects for each number, which would cost a warm answer a tenth of its
time. Here a count is an integer in a dictionary; the library makes text of it when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Literal

import msgspec

#: Bounds of histograms, in seconds: of answers, most of which take a fraction of a millisecond,
ANSWERS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
#: of transactions, of which there are many kinds,
TRANSACTIONS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
#: of how late a tick is recorded,
TICKS: Final = (0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0)
#: and of how late the reactor is.
DELAYS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

#: Names of labels and their values, in one order within a family.
Labels = dict[str, str]
Kind = Literal["counter", "gauge", "histogram", "summary"]


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One number: what follows the family's name, its labels, and the value."""

    suffix: str
    labels: Labels
    value: float


class Family(msgspec.Struct, frozen=True, array_like=True):
    """All numbers of one name; that of a counter stands without ``_total``."""

    name: str
    kind: Kind
    help: str
    samples: list[Sample]


class Timings:
    """How long something took, each time: the sum, and how many up to each of *bounds*."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one that took *seconds*."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self._counts)

    def samples(self, labels: Labels) -> Iterator[Sample]:
        """The lines of a histogram."""
        counts = list(accumulate(self._counts))
        for bound, count in zip((*map(str, self._bounds), "+Inf"), counts, strict=True):
            yield Sample("_bucket", {**labels, "le": bound}, count)
        yield Sample("_count", labels, counts[-1])
        yield Sample("_sum", labels, self.total)


def gauge(name: str, help_: str, *values: tuple[Labels, float]) -> Family:
    """A family of numbers that go up and down."""
    return Family(name, "gauge", help_, [Sample("", labels, float(value)) for labels, value in values])


def counter(name: str, help_: str, values: Iterable[tuple[Labels, float]]) -> Family:
    """A family of numbers that only grow while the process lives."""
    return Family(name, "counter", help_, [Sample("_total", labels, float(value)) for labels, value in values])


def histogram(name: str, help_: str, timings: Iterable[tuple[Labels, Timings]]) -> Family:
    """A family of :class:`Timings`."""
    return Family(name, "histogram", help_, [sample for labels, one in timings for sample in one.samples(labels)])


def merged(parts: Iterable[tuple[Labels, Iterable[Family]]]) -> list[Family]:
    """The families of several processes as one list, each sample with the labels of its process."""
    families: dict[str, Family] = {}
    for own, part in parts:
        for family in part:
            into = families.setdefault(family.name, msgspec.structs.replace(family, samples=[]))
            into.samples.extend(Sample(one.suffix, {**own, **one.labels}, one.value) for one in family.samples)
    return list(families.values())
