"""Reading the beginning of an answer, decompressed, and no more of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss

_GZIP: Final = zlib.MAX_WBITS | 16

#: ``decode(data, room)``: at most *room* bytes of what *data* holds.
Decode = Callable[[bytes, int], bytes]


class Beginning(Protocol):
    """Collects the first *limit* bytes of a body and then hangs up.

    ``done`` fires with whether the body was read to its end.
    """

    def __init__(self, limit: int, encoding: str | None) -> None:
        self._limit = limit
        self._decode = _decoder(encoding)
        self._parts = bytearray()
        self.done: Deferred[bool] = Deferred(lambda _: self._finish(whole=False))
        self._finished = False

    @property
    def read(self) -> bytes:
        """What was read so far."""
        return bytes(self._parts)

    def dataReceived(self, data: bytes) -> None:
        """Keep the beginning of *data*."""
        if self._finished:
            return
        try:
            self._parts += self._decode(data, self._limit - len(self._parts))
        except zlib.error:
            # Not what its headers say it is; what could be read is shown.
            self._finish(whole=False)
            return
        if len(self._parts) >= self._limit:
            self._finish(whole=False)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note the end."""
        if not self._finished:
            self._finished = True
            # Where no length was announced, the end of the connection is the end of the body.
            self.done.callback(reason.check(ResponseDone, PotentialDataLoss) is not None)

    def _finish(self, *, whole: bool) -> None:
        if self._finished:
            return
        self._finished = True
        if self.transport is not None:
            self.transport.loseConnection()
        self.done.callback(whole)


def _decoder(encoding: str | None) -> Decode:
    name = (encoding or "").strip().lower()
    if name in {"gzip", "x-gzip"}:
        return _inflate(_GZIP)
    if name == "deflate":
        return _deflate()
    return lambda data, room: data[:room]


def _inflate(wbits: int) -> Decode:
    inflate = zlib.decompressobj(wbits)
    # What does not fit is dropped with the connection, so what zlib holds back is never asked for.
    return lambda data, room: inflate.decompress(data, room) if room else b""


def _deflate() -> Decode:
    """With zlib's header, as the standard says, or without, as many servers send it."""
    chosen: Decode | None = None

    def decode(data: bytes, room: int) -> bytes:
        nonlocal chosen
        if chosen is None:
            try:
                chosen = _inflate(zlib.MAX_WBITS)
                return chosen(data, room)
            except zlib.error:
                chosen = _inflate(-zlib.MAX_WBITS)
        return chosen(data, room)

    return decode
