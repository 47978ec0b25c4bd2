"""Answers that many get alike: encoded once, and compressed once. Pure."""

from __future__ import annotations

import gzip
import hashlib
from typing import Final

import msgspec

#: Below so many bytes compressing saves no packet.
WORTH: Final = 1200
#: Fast: the answer changes with every solve while the opening rush lasts.
_LEVEL: Final = 1


class Shared(msgspec.Struct, frozen=True, eq=False):
    """One version of an answer; ``etag`` names it. ``zipped`` is None where nobody takes it, or it is too short."""

    body: bytes
    etag: bytes
    zipped: bytes | None = None

    @property
    def weight(self) -> int:
        """What it takes in memory, in bytes, about."""
        return len(self.body) + len(self.zipped or b"")


def version_of(body: bytes, *, zips: bool, mark: bytes | None = None) -> Shared:
    """*body* as a version, compressed as well where somebody takes that (*zips*) and it is worth it.

    *mark* is what names it in place of the body where that is long: another for each other body.
    """
    etag = b'"%b"' % hashlib.blake2b(body if mark is None else mark, digest_size=9).hexdigest().encode()
    zipped = gzip.compress(body, _LEVEL, mtime=0) if zips and len(body) >= WORTH else None
    return Shared(body, etag, zipped)


class Press:
    """Makes the versions of one answer, in whatever thread; ``zips`` is whether somebody takes them compressed."""

    def __init__(self) -> None:
        self.zips = False

    def make(self, body: bytes, mark: bytes | None = None) -> Shared:
        """*body* as a version; see ``version_of``."""
        return version_of(body, zips=self.zips, mark=mark)
