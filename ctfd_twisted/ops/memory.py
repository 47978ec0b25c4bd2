"""What a node tells the interpreter and the C library about its memory."""

from __future__ import annotations

import ctypes
import gc
from typing import Final

#: glibc's names, in malloc.h, for "so many arenas at most", for "give memory back to the system where so many bytes are
#: free at its end", and for "ask the system for blocks that are so large".
_M_ARENA_MAX: Final = -8
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
#: So many bytes are kept, and blocks that are larger are not.
_KEPT: Final = 16 * 2**20
_LARGE: Final = 4 * 2**20


def share_arenas() -> None:
    """Let all threads allocate from two of glibc's arenas; to be called before threads are started.

    By default each thread may get its own, and keeps what it once needed: 14 of 150 MB after the benchmark. A C library
    without the call is left alone.
    """
    _tell((_M_ARENA_MAX, 2))


def keep_for_answers() -> None:
    """Let a little memory be kept that was freed, for the next answers.

    twisted.web copies an answer before it sends it. The copies of a board of 140 kB for sixteen who have waited for it
    were taken from the system and given back each time, page by page: 100 microseconds for each, as much as all else.
    """
    _tell((_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _KEPT))


def _tell(*options: tuple[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in options:
            mallopt(name, value)


def spare_the_collector() -> None:
    """Keep what was made at the start out of the garbage collector's rounds, and make these rarer.

    Modules, routes, templates and statements are some hundred thousand objects that never become garbage. Walking them
    with every full round took 5 to 15 % of what a rush of first requests costs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
