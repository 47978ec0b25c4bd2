"""A receiver of webhooks that costs little: it counts, verifies one signature in a hundred, and answers 204."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import sys
import time
from hashlib import sha256
from typing import Final

import msgspec

#: The environment's name for the shared secret.
SECRET: Final = "BENCH_SECRET"  # noqa: S105 - a name
#: Paths at which is told how many have come, and all of them.
COUNT, ALL = b"/count", b"/all"
_EVERY: Final = 100
_ANSWER: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_END: Final = b"\r\n\r\n"
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_ID: Final = re.compile(rb"(?i)\r\n[a-z-]+-webhook-id: *(\S+)")
_SIGNATURE: Final = re.compile(rb"(?i)\r\n[a-z-]+-webhook-signature: *t=(\d+),v1=([0-9a-f]{64})")


class Came(msgspec.Struct):
    """What came: the ids in the order of their coming, and when each did, by ``time.time()``."""

    ids: list[str] = []
    at: list[float] = []
    verified: int = 0
    forged: int = 0


def is_signed(secret: str, head: bytes, body: bytes) -> bool:
    """Whether the request of *head* and *body* has the signature of who knows *secret*."""
    found = _SIGNATURE.search(head)
    if found is None:
        return False
    digest = hmac.new(secret.encode(), b"%b.%b" % (found[1], body), sha256).hexdigest()
    return hmac.compare_digest(digest, found[2].decode())


class Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self, secret: str, came: Came) -> None:
        self._secret = secret
        self._came = came
        self._text = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - what a TCP server is given
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer whatever has come as a whole."""
        self._text += data
        while (end := self._text.find(_END)) >= 0:
            head = self._text[:end]
            found = _LENGTH.search(head)
            whole = end + len(_END) + (int(found[1]) if found else 0)
            if len(self._text) < whole:
                return
            body, self._text = self._text[end + len(_END) : whole], self._text[whole:]
            self._transport.write(self._answer(head, body))

    def _answer(self, head: bytes, body: bytes) -> bytes:
        path = head.split(b" ", 2)[1]
        if path in {COUNT, ALL}:
            told = msgspec.json.encode(self._came if path == ALL else len(self._came.ids))
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(told), told)
        found = _ID.search(head)
        self._came.at.append(time.time())
        self._came.ids.append(found[1].decode() if found else "")
        if len(self._came.ids) % _EVERY == 1:
            signed = is_signed(self._secret, head, body)
            self._came.verified += signed
            self._came.forged += not signed
        return _ANSWER


async def main() -> None:
    """Listen on a free port, and print it."""
    secret, came = os.environ[SECRET], Came()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Receiver(secret, came), "127.0.0.1", 0, backlog=128)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\nReady", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
