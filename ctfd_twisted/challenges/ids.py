"""Ids as they stand in a path. Pure."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.errors import NotFound

#: No id has more digits: columns of ids have 32 bits.
_DIGITS: Final = 9


def row_id(text: str) -> int:
    """The id that *text* is; raises ``NotFound`` for what is none, as for an id that nothing has."""
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    raise NotFound
