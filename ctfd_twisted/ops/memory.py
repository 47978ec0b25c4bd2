"""What a node tells the interpreter and the C library about its memory."""

from __future__ import annotations

import ctypes
import gc
from typing import Final

#: glibc's name for "so many arenas at most", in malloc.h.
_M_ARENA_MAX: Final = -8


def share_arenas() -> None:
    """Let all threads allocate from two of glibc's arenas; to be called before threads are started.

    By default each thread may get its own, and keeps what it once needed: 14 of 150 MB after the benchmark. A C library
    without the call is left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 2)


def spare_the_collector() -> None:
    """Keep what was made at the start out of the garbage collector's rounds, and make these rarer.

    Modules, routes, templates and statements are some hundred thousand objects that never become garbage. Walking them
    with every full round took 5 to 15 % of what a rush of first requests costs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
