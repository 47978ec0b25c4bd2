"""What one request costs a server, and how long the server was silent meanwhile."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import NamedTuple, Self

from sqlalchemy import text

from bench.load import request
from ctfd_twisted.db.engine import Engines

#: Asked again and again while another request is under way; answered without any work.
PULSE = request("GET", "/healthcheck")
_NANO = 1e-9
#: The server is quiet when it uses less than this in SETTLED seconds.
QUIET, SETTLED = 0.000_5, 0.02


class Answer(NamedTuple):
    """The status and body of an answer, and the seconds that it took to come."""

    status: int
    body: bytes
    seconds: float


class Meter:
    """CPU seconds of a process and of those that serve its database.

    To the microsecond; of processes that PostgreSQL starts for a part of one query, to a hundredth of a second.
    """

    def __init__(self, pid: int, engines: Engines) -> None:
        self._pids = [pid]
        self._server: Path | None = None
        self._engines = engines

    def find(self) -> None:
        """Look anew which processes serve the database; SQLite has none."""
        if self._engines.dialect != "postgresql":
            return
        with self._engines.reader() as conn:
            found = conn.execute(
                text("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
            )
            self._pids[1:] = found.scalars().all()
        parent = Path(f"/proc/{self._pids[-1]}/stat").read_text().rsplit(")", 1)[1].split()[1]
        self._server = Path(f"/proc/{parent}/stat")

    @property
    def used(self) -> float:
        """What all threads have used that are still there; those of a platform stay."""
        threads = sum(_thread_seconds(task) for pid in self._pids for task in Path(f"/proc/{pid}/task").glob("*"))
        return threads + _seconds_of_ended(self._server)

    def settle(self) -> None:
        """Wait until what was begun has ended."""
        before = self.used
        while True:
            time.sleep(SETTLED)
            now = self.used
            if now - before < QUIET:
                return
            before = now


def _seconds_of_ended(server: Path | None) -> float:
    """What the processes have used that *server* has started and that have ended."""
    if server is None:
        return 0.0
    fields = server.read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _thread_seconds(task: Path) -> float:
    try:
        return int((task / "schedstat").read_text().split()[0]) * _NANO
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


class Line:
    """A connection that is kept open, and asks one thing after the other."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, wanted: bytes) -> Answer:
        """Send a request, and wait for the answer."""
        begun = time.perf_counter()
        self._writer.write(wanted)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            body = await self._chunks()
        else:
            body = await self._reader.readexactly(int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]))
        return Answer(int(head[9:12]), body, time.perf_counter() - begun)

    async def _chunks(self) -> bytes:
        whole = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            whole += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return whole


async def longest_silence(port: int, wanted: bytes) -> float:
    """Seconds of the longest wait for an empty answer while *wanted* is under way: the reactor's longest pause."""
    async with Line(port) as asking, Line(port) as feeling:
        await feeling.ask(PULSE)
        asked = asyncio.create_task(asking.ask(wanted))
        longest = 0.0
        while not asked.done():
            longest = max(longest, (await feeling.ask(PULSE)).seconds)
        await asked
    return longest


async def silence_at_rest(port: int) -> float:
    """The same while nobody else asks anything: what the machine itself adds."""
    async with Line(port) as feeling:
        return max([(await feeling.ask(PULSE)).seconds for _ in range(500)])
