"""Gzip out of pieces that were compressed before: of two answers, only what differs is compressed twice. Pure.

A piece is a run of whole DEFLATE blocks (RFC 1951) that ends at a byte and refers to nothing before it, so pieces may
stand after each other in any order, as often as one likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Final

#: Fast: a list changes with every solve while the opening rush lasts.
_LEVEL: Final = 1
#: Of DEFLATE without the header of zlib, with the largest window.
_RAW: Final = -15
#: No name, no time, an unknown system (RFC 1952).
_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
#: An empty block that is the last one.
_LAST: Final = b"\x03\x00"
#: So long may a block be that is not compressed.
_STORED: Final = 0xFFFF
#: What compressed runs may weigh together, in bytes.
_ROOM: Final = 8 * 2**20
#: What a run weighs beside its bytes, about.
_BESIDE: Final = 256


def deflated(text: bytes) -> bytes:
    """*text* as a piece."""
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    return press.compress(text) + press.flush(zlib.Z_SYNC_FLUSH)


def stored(text: bytes) -> bytes:
    """*text* as a piece that is not compressed, however long: for what is never sent twice, and for secrets."""
    if len(text) > _STORED:
        return b"".join([stored(text[at : at + _STORED]) for at in range(0, len(text), _STORED)])
    return b"\x00" + len(text).to_bytes(2, "little") + (_STORED - len(text)).to_bytes(2, "little") + text


def zipped(pieces: Iterable[bytes], plain: bytes) -> tuple[bytes, ...]:
    """The whole of *plain*, which *pieces* hold, as what is to be joined."""
    size = len(plain) & 0xFFFF_FFFF
    return (_HEAD, *pieces, _LAST, zlib.crc32(plain).to_bytes(4, "little"), size.to_bytes(4, "little"))


class Runs:
    """Texts that stand after each other in the answers of many, compressed once.

    An answer is cut where its texts say that a run begins, so what one has more than another moves no other run.
    """

    def __init__(self, room: int = _ROOM) -> None:
        """What is kept weighs *room* bytes together; when it is full all is forgotten."""
        self._room = room
        self._found: dict[tuple[bytes, ...], bytes] = {}
        self._weight = 0

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._found)

    def zipped(self, run: tuple[bytes, ...], between: bytes = b"") -> bytes:
        """The texts of *run* with *between* between them, always the same, as a piece."""
        found = self._found.get(run)
        if found is None:
            found = deflated(between.join(run))
            if self._weight > self._room:
                self._found.clear()
                self._weight = 0
            self._weight += len(found) + 8 * len(run) + _BESIDE
            self._found[run] = found
        return found
