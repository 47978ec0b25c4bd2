"""The challenges of one caller on shelves, by category: put together from tiles that were drawn once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ctfd_twisted.http.zipped import Runs
from ctfd_twisted.web.kept import MOST, Draw, Kept

#: About so many tiles are compressed together.
_TOGETHER: Final = 8
_END: Final = b"  </ul>\n</section>\n"
_NONE: Final = b'<div class="nothing"><p>There are no challenges yet.</p></div>\n'


class Tile(NamedTuple):
    """One challenge as it stands in the list; a *hill*, whose king changes by himself, has no *html* that is kept."""

    id: int
    category: str
    solved: bool
    hill: Mapping[str, Any] | None
    html: bytes


class _Listed(msgspec.Struct, frozen=True):
    """The answer of the list of challenges, each left as it is."""

    data: list[msgspec.Raw]


class Shelves:
    """The list in HTML: ``body``, and ``pieces`` of gzip."""

    def __init__(self, parts: Sequence[tuple[bytes, bool]], runs: Runs) -> None:
        """*parts* follow each other, each with whether a run begins with it."""
        self._parts = parts
        self._runs = runs

    @property
    def body(self) -> bytes:
        """As it is."""
        return b"".join([html for html, _ in self._parts])

    @property
    def pieces(self) -> bytes:
        """Compressed; what others have been sent too was compressed for them."""
        runs: list[list[bytes]] = []
        for html, begins in self._parts:
            if begins or not runs:
                runs.append([])
            runs[-1].append(html)
        return b"".join([self._runs.zipped(tuple(run)) for run in runs])


class Cabinet:
    """Makes shelves, and keeps the tiles by what the list of challenges says of each."""

    def __init__(self, tile: Draw, begin: Draw, url: Callable[[str], str]) -> None:
        """*tile* draws ``(challenge, hill, url)``, *begin* ``(number, category, solved, solvable)``."""
        self._tile = tile
        self._begin = begin
        self._url = url
        self._tiles: dict[bytes, Tile] = {}
        self._heads = Kept()
        self._runs = Runs()

    def tiles(self, answer: bytes) -> list[Tile]:
        """The tiles of *answer*, that of the list of challenges, in its order."""
        kept = self._tiles
        return [kept.get(line) or self._made(line) for line in map(bytes, _decode(answer).data)]

    def shelves(self, tiles: Iterable[Tile], hills: Mapping[int, Any]) -> Shelves:
        """*tiles* by category, in the order in which each is met first; *hills* says by id who holds them."""
        by_category: dict[str, list[Tile]] = {}
        for tile in tiles:
            shelf = by_category.get(tile.category)
            if shelf is None:
                shelf = by_category[tile.category] = []
            shelf.append(tile)
        parts: list[tuple[bytes, bool]] = []
        for number, (name, shelf) in enumerate(by_category.items(), 1):
            solved = sum([tile.solved for tile in shelf])
            # A hill is held instead of solved.
            solvable = sum([tile.hill is None for tile in shelf])
            parts.append((self._heads.of(self._begin, number, name, solved, solvable).encode("utf-8", "replace"), True))
            parts += [(self._shown(tile, hills), tile.id % _TOGETHER == 0) for tile in shelf]
            parts.append((_END, False))
        return Shelves(parts or [(_NONE, True)], self._runs)

    def _made(self, line: bytes) -> Tile:
        challenge: dict[str, Any] = msgspec.json.decode(line)
        category = challenge["category"] or "Without category"
        hill = challenge if challenge["type"] == "koth" else None
        html = b"" if hill is not None else self._drawn(challenge, None)
        if len(self._tiles) >= MOST:
            self._tiles.clear()
        tile = self._tiles[line] = Tile(challenge["id"], category, bool(challenge["solved_by_me"]), hill, html)
        return tile

    def _shown(self, tile: Tile, hills: Mapping[int, Any]) -> bytes:
        return tile.html if tile.hill is None else self._drawn(tile.hill, hills.get(tile.id))

    def _drawn(self, challenge: Mapping[str, Any], hill: Any) -> bytes:
        return f"    <li>{self._tile(challenge, hill, self._url)}</li>\n".encode("utf-8", "replace")


_decode: Final = msgspec.json.Decoder(_Listed).decode
