"""Pieces of pages that many pages share, drawn once for the same values.

In an opening minute the same sixty tiles are drawn for everybody, and after each solve a board of which a row has
changed. To draw them by their template takes milliseconds in which nobody else is answered.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Protocol

from markupsafe import Markup

#: So many pieces are kept of one kind; with more all are forgotten.
MOST: Final = 8192


class Draw(Protocol):
    """A macro of a template."""

    def __call__(self, *values: Any) -> Markup:
        """The piece of *values*."""


class Kept:
    """Pieces of one kind by all that they are drawn of, on which alone they may depend."""

    def __init__(self) -> None:
        self._pieces: dict[Hashable, Markup] = {}

    def of(self, draw: Draw, *values: Hashable) -> Markup:
        """What *draw* makes of *values*; for templates."""
        return self.under(values, draw, *values)

    def under(self, key: Hashable, draw: Draw, *values: Any) -> Markup:
        """The same of *values* that are not hashable, for which *key* stands."""
        piece = self._pieces.get(key)
        if piece is None:
            if len(self._pieces) >= MOST:
                self._pieces.clear()
            piece = self._pieces[key] = draw(*values)
        return piece
