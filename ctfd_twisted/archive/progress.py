"""How far an export is: told by the thread that writes it, read by whoever waits."""

from __future__ import annotations

from collections.abc import Callable


class Abandoned(Exception):
    """Nobody wants the export any more."""


class Progress:
    """So many rows and files of so many; *tell* is called in the writing thread with how many more there are."""

    def __init__(self, tell: Callable[[Progress], None] | None = None) -> None:
        self.total = 0
        self.done = 0
        self._tell = tell
        self._abandoned = False

    def begin(self, total: int) -> None:
        """Begin, or begin again, with *total* rows and files."""
        self.total, self.done = total, 0
        self.advance(0)

    def advance(self, number: int) -> None:
        """*number* more are written. Raises ``Abandoned`` where nobody wants the rest."""
        if self._abandoned:
            raise Abandoned
        self.done += number
        if self._tell is not None:
            self._tell(self)

    def abandon(self) -> None:
        """Have the thread stop at its next step."""
        self._abandoned = True
