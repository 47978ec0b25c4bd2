"""Ids as they stand in a path or a body. Pure."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.errors import NotFound

#: Columns of ids have 32 bits.
_HIGHEST: Final = 2**31 - 1
#: No id has more digits.
_DIGITS: Final = 10


def row_id(text: str) -> int:
    """The id that *text* is; raises ``NotFound`` for what is none, as for an id that nothing has."""
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return sent_id(int(text))
    raise NotFound


def sent_id(value: object) -> int:
    """The id in a body, a number or digits; raises ``NotFound`` for anything else."""
    if isinstance(value, str):
        return row_id(value.strip())
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _HIGHEST:
        return value
    raise NotFound
