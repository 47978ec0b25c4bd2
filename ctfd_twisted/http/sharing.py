"""What is shared, for one who asks: not sent again to who has it, and compressed to who takes that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Final, Generic, Protocol, TypeVar

from sqlalchemy import Connection

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.http.answers import JSON, Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.shared import Press, Shared

K = TypeVar("K", bound=Hashable)

#: So many answers of one kind are kept, and so many bytes of them.
_KEPT: Final = 1000
_ROOM: Final = 16 * 2**20

#: Kept by who asked, who asks each time whether it is still good.
KEPT: Final = (b"Cache-Control", b"private, no-cache")
#: Kept by no browser, for what holds secrets; a script that has kept it may still ask whether it is good.
NEVER_KEPT: Final = (b"Cache-Control", b"no-store")
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
    if call.inside:
        return Answer(version.body, 200, content_type)
    # Weak, because compressed and plain bytes have the same name.
    headers = ((b"ETag", b"W/" + version.etag), kept, _VARIES)
    known = call.request.getHeader(b"if-none-match")
    if known is not None and (known == b"*" or version.etag in known):
        return Answer(b"", 304, content_type, headers)
    if takes_gzip(call) and (zipped := version.zipped) is not None:
        return Answer(zipped, 200, content_type, (*headers, _ZIPPED))
    return Answer(version.body, 200, content_type, headers)


def shared_answer(call: Call, press: Press, shared: Shared, kept: tuple[bytes, bytes] = KEPT) -> Answer:
    """*shared* as JSON, or 304.

    Where the caller takes gzip and *press* did not make any yet, it does from now on.
    """
    if not press.zips and takes_gzip(call):
        press.zips = True
    return tagged_answer(call, shared, JSON, kept)


def takes_gzip(call: Call) -> bool:
    """Whether the caller takes gzip. A weight of zero (``gzip;q=0``) refuses; nobody sends another for gzip alone."""
    accepted = call.request.getHeader(b"accept-encoding")
    return accepted is not None and b"gzip" in accepted.replace(b" ", b"").lower().split(b",")


async def taken(answer: Answer | Awaitable[Answer]) -> Answer:
    """*answer*, waited for where it has to be made."""
    return answer if isinstance(answer, Answer) else await answer


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


class SharedAnswers(Generic[K]):
    """The same for each of many questions: what *read* finds for one, encoded, until a commit tells one of *topics*.

    Those asked last are kept. Whatever makes two answers differ, such as who sees it, is part of the question.

    :param topics_of: which further commits make the answer to one question stale.
    :param kept: the header that says how long those who asked may keep it.
    """

    def __init__(
        self,
        db: Database,
        read: Callable[[Connection, K], bytes],
        topics: Iterable[str],
        *,
        topics_of: Callable[[K], Iterable[str]] | None = None,
        kept: tuple[bytes, bytes] = KEPT,
    ) -> None:
        self._header = kept
        self._press = Press()
        self._read = read
        self._kept = KeyedSnapshots(
            db, db.bus, self._made, topics, topics_of=topics_of, limit=_KEPT, weigh=_weight, room=_ROOM
        )

    def to(self, call: Call, asked: K) -> Answer | Awaitable[Answer]:
        """The answer to *asked* for *call*, made first where it has to be."""
        shared = self._kept.ready(asked)
        return self._later(call, asked) if shared is None else shared_answer(call, self._press, shared, self._header)

    async def _later(self, call: Call, asked: K) -> Answer:
        return shared_answer(call, self._press, await self._kept.get(asked), self._header)

    def _made(self, conn: Connection, asked: K) -> Shared:
        return self._press.make(self._read(conn, asked))


def _weight(shared: Shared) -> int:
    return shared.weight
