"""Bounded load over keep-alive connections to this machine's loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence

import msgspec

#: At once, at most.
CONNECTIONS = 16


class Wanted(msgspec.Struct, frozen=True):
    """One request as bytes, and the text that its answer must hold."""

    request: bytes
    expected: bytes = b'"success":true'


class Measured(msgspec.Struct, frozen=True):
    """What a run of requests took, in seconds; *size* is the first answer's body in bytes."""

    requests: int
    seconds: float
    latencies: list[float]
    size: int
    wrong: list[bytes]

    def percentile(self, share: float) -> float:
        """The latency that *share* of the requests stayed within."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def request(method: str, path: str, headers: Sequence[tuple[str, str]] = (), body: bytes = b"") -> bytes:
    """One HTTP/1.1 request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def run(port: int, wanted: Sequence[Wanted], connections: int = CONNECTIONS) -> Measured:
    """Send all of *wanted* over *connections*, each sending its next when it has the answer to its last."""
    return asyncio.run(run_all(port, wanted, connections))


async def run_all(port: int, wanted: Sequence[Wanted], connections: int = CONNECTIONS) -> Measured:
    """The same within a loop that runs."""
    pending = iter(wanted)
    latencies: list[float] = []
    wrong: list[bytes] = []
    sizes: list[int] = []
    begun = time.perf_counter()
    await asyncio.gather(*(_connection(port, pending, latencies, sizes, wrong) for _ in range(connections)))
    return Measured(len(latencies), time.perf_counter() - begun, latencies, sizes[0] if sizes else 0, wrong)


async def _connection(
    port: int, pending: Iterator[Wanted], latencies: list[float], sizes: list[int], wrong: list[bytes]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    try:
        for one in pending:
            begun = time.perf_counter()
            writer.write(one.request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            body = await reader.readexactly(length)
            latencies.append(time.perf_counter() - begun)
            sizes.append(length)
            if one.expected not in head + body and len(wrong) < 3:  # noqa: PLR2004 - enough to see what is wrong
                wrong.append(head.split(b"\r\n", 1)[0] + b" " + body[:200])
    finally:
        writer.close()
