"""One finished list of challenges: joined of pieces that the lists of many share, plain and compressed. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ctfd_twisted.http.shared import WORTH
from ctfd_twisted.http.zipped import Runs, stored, zipped

#: About so many challenges are compressed together: with more of them, fewer accounts have solved the same ones among
#: them; with fewer, compressing finds less.
_TOGETHER: Final = 8
_DIGEST: Final = 9
_BEGIN, _END = b'{"success":true,"data":[', b"]}"
_STORED_BEGIN, _STORED_END = stored(_BEGIN), stored(_END)


class Piece(NamedTuple):
    """The JSON of one challenge, as some callers see it; *begins* is whether a run of them begins with it."""

    body: bytes
    digest: bytes
    begins: bool


def make_piece(body: bytes, challenge_id: int) -> Piece:
    """The piece of a challenge; it is the id that says where runs begin, so they are the same for most callers."""
    return Piece(body, hashlib.blake2b(body, digest_size=_DIGEST).digest(), challenge_id % _TOGETHER == 0)


class FinishedList:
    """The list that some caller sees, in its envelope; it is joined anew for each answer.

    A hundred pieces that everybody shares stay in the processor's cache, a finished list per player does not.
    """

    __slots__ = ("_parts", "_pieces", "_runs", "_zipped", "etag")

    def __init__(self, pieces: Sequence[Piece], runs: Runs) -> None:
        """*pieces* are in the order of the list; *runs* keeps what is compressed of them."""
        named = hashlib.blake2b(b"".join([piece.digest for piece in pieces]), digest_size=_DIGEST).hexdigest()
        #: Changes when, and only when, the list does.
        self.etag = b'"%b"' % named.encode()
        self._pieces = pieces
        self._runs = runs
        self._zipped: tuple[bytes, ...] | None = None
        parts = [piece.body for piece in pieces] or [b""]
        parts[0] = _BEGIN + parts[0]
        parts[-1] += _END
        self._parts = tuple(parts)

    @property
    def weight(self) -> int:
        """What it weighs beside what it shares, in bytes, about."""
        return 1024 + 24 * len(self._parts)

    @property
    def body(self) -> bytes:
        """As JSON."""
        return b",".join(self._parts)

    @property
    def zipped(self) -> bytes | None:
        """The same compressed; None where that is not worth it."""
        if self._zipped is None:
            plain = self.body
            self._zipped = (
                zipped((_STORED_BEGIN, *self._compressed(), _STORED_END), plain) if len(plain) >= WORTH else ()
            )
        return b"".join(self._zipped) or None

    def _compressed(self) -> Iterator[bytes]:
        starts = [number for number, piece in enumerate(self._pieces) if number and piece.begins]
        for start, end in pairwise([0, *starts, len(self._pieces)]):
            run = tuple([piece.body for piece in self._pieces[start:end]])
            yield self._runs.zipped(run if end == len(self._pieces) else (*run, b""), b",")
