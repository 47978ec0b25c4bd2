"""The graph over the scoreboard, as shapes for an SVG: it needs no script, and the table has the same numbers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

WIDTH: Final = 960
HEIGHT: Final = 280
LEFT: Final = 56
_TOP: Final = 12
_BOTTOM: Final = 28
_STEPS: Final = (1, 2, 2.5, 5, 10)


class Line(msgspec.Struct, frozen=True):
    """One account: its name and the path of its score, a step at every change."""

    name: str
    path: str


class Tick(msgspec.Struct, frozen=True):
    """One score on the left axis."""

    y: float
    text: str


class Mark(msgspec.Struct, frozen=True):
    """One instant below the graph."""

    x: float
    text: str
    anchor: str


class Graph(msgspec.Struct, frozen=True):
    """Everything that is drawn."""

    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT


def score_graph(accounts: Sequence[tuple[str, Sequence[tuple[float, int]]]]) -> Graph | None:
    """The graph of *accounts*: names with what each scored, as (epoch seconds, points) in order of time.

    None where there is nothing to draw: nobody scored, or everything happened in one instant.
    """
    moments = [moment for _, scored in accounts for moment, _ in scored]
    if not moments or min(moments) == max(moments):
        return None
    first, last = min(moments), max(moments)
    sums = [_running(scored) for _, scored in accounts]
    highest = max((score for steps in sums for _, score in steps), default=0)
    lowest = min(0, min((score for steps in sums for _, score in steps), default=0))
    step = _step(max(highest - lowest, 1) / 5)
    top, base = _ceil(highest, step), -_ceil(-lowest, step)

    def x(moment: float) -> float:
        return round(LEFT + (moment - first) / (last - first) * (WIDTH - LEFT - 4), 1)

    def y(score: float) -> float:
        return round(_TOP + (top - score) / max(top - base, 1) * (HEIGHT - _TOP - _BOTTOM), 1)

    lines = tuple(
        Line(
            name, f"M{x(first)} {y(0)}" + "".join(f"H{x(moment)}V{y(score)}" for moment, score in steps) + f"H{x(last)}"
        )
        for (name, _), steps in zip(accounts, sums, strict=True)
    )
    ticks = tuple(Tick(y(score), f"{score:g}") for score in _scale(base, top, step))
    return Graph(lines, ticks, _marks(first, last, x(first), x(last)))


def _running(scored: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    total, steps = 0, []
    for moment, points in scored:
        total += points
        steps.append((moment, total))
    return steps


def _step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below *least*."""
    power = 1.0
    while power * 10 <= least:
        power *= 10
    return max(1.0, next(power * step for step in _STEPS if power * step >= least))


def _ceil(value: float, step: float) -> float:
    return -(-value // step) * step


def _scale(base: float, top: float, step: float) -> list[float]:
    return [base + index * step for index in range(round((top - base) / step) + 1)]


def _marks(first: float, last: float, left: float, right: float) -> tuple[Mark, Mark]:
    def text(moment: float) -> str:
        return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"

    return Mark(left, text(first), "start"), Mark(right, text(last), "end")
