"""What was aimed at, and what was measured: one line each, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Goal(msgspec.Struct, frozen=True):
    """One goal; *measured* is to be at most *goal*, or with *at_least* at least that, both in *unit*.

    Without *goal* nothing is aimed at, and the figure is told because it belongs to the others.
    """

    what: str
    goal: float | None
    measured: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it was reached."""
        if self.goal is None:
            return True
        return self.measured >= self.goal if self.at_least else self.measured <= self.goal


class Told(msgspec.Struct, frozen=True):
    """A goal as it is written into a file."""

    what: str
    goal: float | None
    measured: float
    unit: str
    at_least: bool
    met: bool


def faults(what: str, count: int) -> Goal:
    """That nothing went wrong, of which *what* is the name."""
    return Goal(what, 0, count)


def status(goals: Sequence[Goal]) -> int:
    """What a command ends with: 1 where a goal was missed."""
    return int(any(not one.met for one in goals))


def table(goals: Sequence[Goal]) -> str:
    """The lines that are printed: name, goal, what was measured, and whether it was met."""
    width = max((len(one.what) for one in goals), default=0)
    lines = [f"{'':<{width}}{'goal':>14}{'measured':>14}  met"]
    for one in goals:
        goal = "" if one.goal is None else f"{'>=' if one.at_least else '<='} {shown(one.goal, one.unit)}"
        met = "" if one.goal is None else "yes" if one.met else "NO"
        lines.append(f"{one.what:<{width}}{goal:>14}{shown(one.measured, one.unit):>14}  {met}".rstrip())
    return "\n".join(lines)


def shown(value: float, unit: str) -> str:
    """A number with as many digits as people read: ``1.57``, ``12.4 ms``, ``512 MB``."""
    digits = 0 if value == int(value) or abs(value) >= 100 else 1 if abs(value) >= 10 else 2  # noqa: PLR2004 - digits
    return f"{value:.{digits}f} {unit}".rstrip()


def write(file: Path, goals: Sequence[Goal]) -> None:
    """Write *goals* into *file* as a JSON list; :func:`read` reads it."""
    told = [Told(one.what, one.goal, one.measured, one.unit, one.at_least, one.met) for one in goals]
    file.write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")


def read(file: Path) -> list[Goal]:
    """The goals that *file* holds; raises ``FileNotFoundError`` and ``msgspec.MsgspecError``."""
    return msgspec.json.decode(file.read_bytes(), type=list[Goal])
