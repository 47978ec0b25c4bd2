"""A cheap source of load, in a process of its own: the same requests again and again, for so many seconds.

What asks as fast as it is answered shares the cores with the server that it measures. So each connection here sends
bytes that are ready as soon as it has the answer to the last, and of an answer only the head is looked at.
"""

from __future__ import annotations

import re
import select
import socket
import time
from array import array
from typing import Final

import msgspec

from bench.aside import Aside, begun, order, tell

_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_END: Final = b"\r\n\r\n"
_GOOD: Final = b"HTTP/1.1 200"
#: Bytes that are taken from a connection at once, and those of a head at most.
_GULP, _HEAD = 1 << 18, 8192
#: Seconds without any answer after which the server is given up.
_PATIENCE: Final = 20
#: Seconds between two connections.
_APART: Final = 0.004


class Order(msgspec.Struct, frozen=True):
    """What is asked: each request of *requests* over a connection of its own, for *seconds*, after *warm* uncounted."""

    port: int
    requests: list[bytes]
    seconds: float
    warm: float = 0.5


class Poured(msgspec.Struct, frozen=True):
    """What came of it, in seconds; *cpu* is what the hose itself has used, *size* an answer's body in bytes."""

    answers: int
    wrong: int
    seconds: float
    cpu: float
    size: int
    p50: float
    p99: float


class Head(msgspec.Struct, frozen=True):
    """The head of an answer: its length and that of the body which follows, in bytes, and whether it is a 200."""

    length: int
    body: int
    good: bool


def head_of(begin: bytes) -> Head | None:
    """The head of the answer that begins so; None while it has not ended. Raises ``ValueError`` where it is none."""
    end = begin.find(_END)
    if end < 0:
        if len(begin) >= _HEAD:
            raise ValueError(f"this is no head of an answer: {begin[:200]!r}")
        return None
    found = _LENGTH.search(begin, 0, end)
    if found is None:
        raise ValueError(f"an answer without a length: {begin[:end]!r}")
    return Head(end + len(_END), int(found[1]), begin.startswith(_GOOD))


class Hose(Aside[Poured]):
    """A process that pours what is *wanted* from ``with`` on; by then all connections are open and warm."""

    def __init__(self, wanted: Order) -> None:
        super().__init__("bench.hose", wanted, Poured)


class _Line:
    """One connection: *missing* bytes of the answer have not come yet, or *head* is the part of its head that has."""

    __slots__ = ("began", "head", "missing", "request", "socket")

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        self.socket.setblocking(False)
        self.request = request
        self.began = 0.0
        self.missing = 0
        self.head = b""

    def ask(self, now: float) -> None:
        """Ask the next time."""
        self.began = now
        self.socket.send(self.request)


class _Lines:
    """All connections of one order."""

    def __init__(self, wanted: Order) -> None:
        self._order = wanted
        self._epoll = select.epoll()
        self._lines: dict[int, _Line] = {}
        self._gulp = memoryview(bytearray(_GULP))
        self._took = array("d")
        self._wrong = self._size = 0

    def open(self) -> None:
        """Open one after the other, each asking from then on, and go on asking until all is warm."""
        for request in self._order.requests:
            line = _Line(self._order.port, request)
            self._lines[line.socket.fileno()] = line
            self._epoll.register(line.socket, select.EPOLLIN)
            line.ask(time.perf_counter())
            # Of workers that are idle the same one would take all that come at once; one that is busy leaves them.
            self._ask(time.perf_counter() + _APART)
        self._ask(time.perf_counter() + self._order.warm)

    def pour(self) -> Poured:
        """Ask until the time is over; an answer that has not come by then is not counted."""
        self._took = took = array("d")
        self._wrong = 0
        cpu, begins = time.process_time(), time.perf_counter()
        ends = self._ask(begins + self._order.seconds)
        used, ordered = time.process_time() - cpu, sorted(took)
        p50, p99 = (ordered[int(len(ordered) * share)] if ordered else 0.0 for share in (0.5, 0.99))
        return Poured(len(took), self._wrong, ends - begins, used, self._size, p50, p99)

    def _ask(self, ends: float) -> float:
        """Ask on all lines until *ends*; when that was."""
        now = time.perf_counter()
        while now < ends:
            ready = self._epoll.poll(_PATIENCE)
            if not ready:
                raise TimeoutError(f"no answer within {_PATIENCE} s")
            for number, _ in ready:
                line = self._lines[number]
                got = line.socket.recv_into(self._gulp)
                if not got:
                    raise ConnectionError("the server has closed a connection")
                line.missing = line.missing - got if line.missing else self._begin(line, self._gulp[:got])
                if not line.missing and not line.head:
                    now = time.perf_counter()
                    self._took.append(now - line.began)
                    line.ask(now)
            now = time.perf_counter()
        return now

    def _begin(self, line: _Line, came: memoryview) -> int:
        """Take the beginning of an answer; how many bytes are missing of it, as far as its head tells already."""
        head = head_of(line.head + bytes(came[:_HEAD]))
        if head is None:
            line.head += came
            return 0
        missing = head.length + head.body - len(line.head) - len(came)
        line.head = b""
        self._wrong += not head.good
        self._size = head.body
        return missing


def main() -> None:
    """Follow the order."""
    lines = _Lines(order(Order))
    lines.open()
    begun()
    tell(lines.pour())


if __name__ == "__main__":
    main()
