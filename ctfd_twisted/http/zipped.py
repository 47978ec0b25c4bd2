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


def deflated(text: bytes) -> bytes:
    """*text* as a piece."""
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    return press.compress(text) + press.flush(zlib.Z_SYNC_FLUSH)


def stored(text: bytes) -> bytes:
    """*text* as a piece that is not compressed: for what is never sent twice."""
    if len(text) > _STORED:
        return deflated(text)
    return b"\x00" + len(text).to_bytes(2, "little") + (_STORED - len(text)).to_bytes(2, "little") + text


def zipped(pieces: Iterable[bytes], plain: bytes) -> tuple[bytes, ...]:
    """The whole of *plain*, which *pieces* hold, as what is to be joined."""
    size = len(plain) & 0xFFFF_FFFF
    return (_HEAD, *pieces, _LAST, zlib.crc32(plain).to_bytes(4, "little"), size.to_bytes(4, "little"))
