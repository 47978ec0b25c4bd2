"""What an import has done, or would do, for the person who asked for it."""

from __future__ import annotations

from collections import Counter
from typing import Final

#: Characters of a name that are said back.
_LONGEST: Final = 80


class Report:
    """Counts of rows and files, and everything that was not taken as it stood."""

    def __init__(self) -> None:
        self.revision = ""
        self.rows: dict[str, int] = {}
        self.uploads = 0
        #: Where rows say that files are.
        self.named: tuple[str, ...] = ()
        self._notes: Counter[tuple[str, str]] = Counter()

    def note(self, about: str, what: str, times: int = 1) -> None:
        """*what* happened to *about* (a table, or a table with a column: maybe named by the archive), so often."""
        if times:
            named = "".join(sign if sign.isprintable() else "?" for sign in about[:_LONGEST])
            self._notes[named, what] += times

    @property
    def notes(self) -> list[str]:
        """A line for each kind of thing that was not taken as it stood."""
        return [
            f"{about}: {what}" + (f" ({times} times)" if times > 1 else "")
            for (about, what), times in sorted(self._notes.items())
        ]

    def lines(self) -> list[str]:
        """All of it, for a terminal or a page."""
        filled = {name: count for name, count in self.rows.items() if count}
        counted = ", ".join(f"{count} {name}" for name, count in sorted(filled.items())) or "nothing"
        return [f"The archive is of revision {self.revision}: {counted}, {self.uploads} uploads", *self.notes]
