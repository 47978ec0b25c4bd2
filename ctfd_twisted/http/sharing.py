"""What is shared, for one who asks: not sent again to who has it, and compressed to who takes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol

from sqlalchemy import Connection

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.http.answers import JSON, Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.shared import Press, Shared

#: Kept by who asked, who asks each time whether it is still good.
_KEPT: Final = (b"Cache-Control", b"private, no-cache")
_VARIES: Final = (b"Vary", b"Accept-Encoding")
#: How routes that answer so say it.
SAME: Final = Described(304, "", None, "What the caller has, as ``If-None-Match`` says, is the present version.")
_ZIPPED: Final = (b"Content-Encoding", b"gzip")


class Tagged(Protocol):
    """One version of what many read alike; ``zipped`` is None where it is not compressed."""

    @property
    def body(self) -> bytes:
        """As it is."""

    @property
    def zipped(self) -> bytes | None:
        """The same, compressed with gzip."""

    @property
    def etag(self) -> bytes:
        """Its name, which another version does not have."""


def tagged_answer(call: Call, version: Tagged, content_type: str, kept: tuple[bytes, bytes]) -> Answer:
    """*version*, compressed for who takes that, or 304 for who has it; the header *kept* says how long it is kept."""
    # Weak, because compressed and plain bytes have the same name.
    headers = ((b"ETag", b"W/" + version.etag), kept, _VARIES)
    known = call.request.getHeader(b"if-none-match")
    if known is not None and (known == b"*" or version.etag in known):
        return Answer(b"", 304, content_type, headers)
    if version.zipped is not None and takes_gzip(call):
        return Answer(version.zipped, 200, content_type, (*headers, _ZIPPED))
    return Answer(version.body, 200, content_type, headers)


def shared_answer(call: Call, press: Press, shared: Shared) -> Answer:
    """*shared* as JSON, or 304.

    Where the caller takes gzip and *press* did not make any yet, it does from now on.
    """
    if not press.zips and takes_gzip(call):
        press.zips = True
    return tagged_answer(call, shared, JSON, _KEPT)


def takes_gzip(call: Call) -> bool:
    """Whether the caller takes gzip. A weight of zero (``gzip;q=0``) refuses; nobody sends another for gzip alone."""
    accepted = call.request.getHeader(b"accept-encoding")
    return accepted is not None and b"gzip" in accepted.replace(b" ", b"").lower().split(b",")


class SharedAnswer:
    """One answer for everybody: what *read* finds, in its envelope, until a commit tells one of *topics*."""

    def __init__(self, db: Database, read: Callable[[Connection], object], topics: Iterable[str]) -> None:
        self._press = Press()
        self._kept = Snapshot(db, db.bus, lambda conn: self._press.make(ok(read(conn)).body), topics)

    def to(self, call: Call) -> Answer | Awaitable[Answer]:
        """The answer for *call*, made first where it has to be."""
        shared = self._kept.ready()
        return self._later(call) if shared is None else shared_answer(call, self._press, shared)

    async def _later(self, call: Call) -> Answer:
        return shared_answer(call, self._press, await self._kept.get())
