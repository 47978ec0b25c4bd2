"""What the processors of this machine have done so far, and for which processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
#: Of ``/proc/stat``'s line: user, nice, system, irq, softirq, steal. Idle processors, and those that wait, are free.
_BUSY: Final = (0, 1, 2, 5, 6, 7)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def busy_seconds() -> float:
    """CPU seconds that were used by anybody since the machine was started, or taken by its host, to a hundredth."""
    return busy_of((_PROC / "stat").read_text(), os.sysconf("SC_CLK_TCK"))


def busy_of(stat: str, ticks: int) -> float:
    """The same of the text of ``/proc/stat``, where a second has so many *ticks*."""
    counts = [int(field) for field in stat.split("\n", 1)[0].split()[1:]]
    return sum(counts[place] for place in _BUSY) / ticks


def family(pid: int) -> list[int]:
    """The process and all that it has started, and these have, that are still there."""
    return family_in(pid, _parents())


def family_in(pid: int, parents: Iterable[tuple[int, int]]) -> list[int]:
    """The same among *parents*, which are pairs of a process and who started it."""
    children: dict[int, list[int]] = {}
    for child, parent in parents:
        children.setdefault(parent, []).append(child)
    found = [pid]
    for one in found:
        found += children.get(one, ())
    return found


def parent_of(stat: str) -> int:
    """Who started the process whose ``/proc/PID/stat`` is *stat*; its name may have blanks and parentheses."""
    return int(stat.rsplit(")", 1)[1].split()[1])


def _parents() -> list[tuple[int, int]]:
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                found.append((int(folder.name), parent_of((folder / "stat").read_text())))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended meanwhile
    return found
