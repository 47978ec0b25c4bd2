"""One player's connection: HTTP/1.1, kept open, opened anew where the server has closed it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

#: Seconds after which a client gives up: as long as the patience of people, and longer than the server's.
PATIENCE = 30.0


class Reply(msgspec.Struct, frozen=True):
    """An answer, as far as players look at it; *cookie* is what goes into the next request's header."""

    status: int
    body: bytes
    retry_after: int | None
    cookie: str

    @property
    def data(self) -> Any:
        """The envelope's ``data``."""
        return json.loads(self.body)["data"]


class Line:
    """A connection that asks one thing after the other."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._named = f"[{host}]" if ":" in host else host
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Reply:
        """One request; raises ``OSError``, ``EOFError``, ``TimeoutError``, and ``ValueError`` where it is not HTTP."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._named}:{self._port}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        sent = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._ask(sent)
        except BaseException:
            self.close()
            raise

    async def _ask(self, sent: bytes) -> Reply:
        kept = self._streams is not None
        try:
            return await self._exchange(sent)
        except (ConnectionError, EOFError):
            if not kept:
                raise
            # A connection that was idle may be closed at the very moment in which it is used; browsers ask again, too.
            self.close()
            return await self._exchange(sent)

    async def _exchange(self, sent: bytes) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=2**20)
        reader, writer = self._streams
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(head[9:12])
        headers: dict[str, str] = {}
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await _chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection", "").lower() == "close":
            self.close()
        later = headers.get("retry-after", "")
        return Reply(status, body, int(later) if later.isdigit() else None, headers.get("set-cookie", "").split(";")[0])

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    whole = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        whole += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return whole


_EXPECTED: dict[str, Callable[[Reply], bool]] = {
    "login": lambda reply: reply.status == 302,  # noqa: PLR2004 - on to the challenges
    "right attempt": lambda reply: b'"correct"' in reply.body or b'"already_solved"' in reply.body,
    "wrong attempt": lambda reply: b'"incorrect"' in reply.body or b'"already_solved"' in reply.body,
}


def unexpected(kind: str, reply: Reply) -> str:
    """What is wrong with *reply*; being told to come back later is not."""
    if reply.status == 429 or (reply.status == 503 and reply.retry_after is not None):  # noqa: PLR2004 - as it says
        return ""
    if _EXPECTED.get(kind, lambda reply: reply.status == 200)(reply):  # noqa: PLR2004 - all went well
        return ""
    return f"{reply.status} {reply.body[:80]!r}" if reply.status < 400 else f"{reply.status}"  # noqa: PLR2004 - no error
