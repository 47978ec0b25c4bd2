"""The board as a part of pages: drawn once for everybody, with the row of the one who asks marked. Pure."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from ctfd_twisted.http.zipped import deflated

#: So many rows are compressed together: of all of them, those around one's own are compressed anew.
_TOGETHER: Final = 32
_ROW: Final = re.compile(r'<tr data-account="(\d+)"')


class DrawnBoard:
    """What ``parts/board.html`` drew, cut into runs of rows."""

    def __init__(self, html: str) -> None:
        rows = list(_ROW.finditer(html))
        cuts = [0, *(row.start() for row in rows[_TOGETHER::_TOGETHER]), len(html)]
        self.runs = [html[begin:end].encode("utf-8", "replace") for begin, end in pairwise(cuts)]
        self._run_of = {int(row[1]): number // _TOGETHER for number, row in enumerate(rows)}
        self._compressed: list[bytes | None] = [None] * len(self.runs)

    def seen_by(self, own_id: int | None, mine: str) -> SeenBoard:
        """The board with the row of the account *own_id*, if it has one, marked as *mine*."""
        number = self._run_of.get(own_id or 0)
        if number is None or own_id is None:
            return SeenBoard(self, None, b"")
        row, place = b'<tr data-account="%d"' % own_id, b"<!--%d-->" % own_id
        tag = f'<span class="tag">{mine}</span>'.encode()
        return SeenBoard(self, number, self.runs[number].replace(row, row + b" data-own").replace(place, tag))

    def compressed(self, number: int) -> bytes:
        """One of the runs, as a piece of gzip."""
        found = self._compressed[number]
        if found is None:
            found = self._compressed[number] = deflated(self.runs[number])
        return found


class SeenBoard(NamedTuple):
    """The board as one caller sees it, whose own run of rows is another."""

    board: DrawnBoard
    number: int | None
    own: bytes

    @property
    def body(self) -> bytes:
        """As it is."""
        return b"".join([self.own if at == self.number else run for at, run in enumerate(self.board.runs)])

    @property
    def pieces(self) -> bytes:
        """Compressed."""
        numbers = range(len(self.board.runs))
        return b"".join([deflated(self.own) if at == self.number else self.board.compressed(at) for at in numbers])
