"""Requests at a steady pace, from a process of its own: each at its moment, whatever became of those before."""

from __future__ import annotations

import asyncio
import time

import msgspec

from bench.aside import Aside, begun, order, tell, until_ended
from bench.watch import Line

#: At once, at most: an answer that takes longer than the pace must not hold up the next.
_LINES = 16


class Order(msgspec.Struct, frozen=True):
    """*requests*, one after the other and each once, so many *per_second*; *expected* is in each good answer."""

    port: int
    requests: list[bytes]
    expected: bytes
    per_second: float


class Sent(msgspec.Struct, frozen=True):
    """What came of it: when each request was sent, by ``time.time()``, and after how many seconds it was answered.

    *late* is for each by how many seconds it was sent after its moment.
    """

    at: list[float]
    took: list[float]
    late: list[float]
    wrong: list[bytes]

    def between(self, begin: float, end: float) -> int:
        """How many were sent from *begin* to *end*."""
        return sum(begin <= at < end for at in self.at)


class Steady(Aside[Sent]):
    """A process that sends what is *wanted* from ``with`` on until its result is asked for."""

    def __init__(self, wanted: Order) -> None:
        super().__init__("bench.steady", wanted, Sent)


class _Sender:
    def __init__(self, wanted: Order) -> None:
        self._order = wanted
        self._free: asyncio.Queue[Line] = asyncio.Queue()
        self._sent = Sent([], [], [], [])

    async def send(self) -> Sent:
        """Send until this process is told to end, or everything was sent; then wait for the last answers."""
        lines = [await Line(self._order.port).__aenter__() for _ in range(_LINES)]
        for line in lines:
            self._free.put_nowait(line)
        ended = asyncio.get_running_loop().run_in_executor(None, until_ended)
        begun()
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number, request in enumerate(self._order.requests):
                due = begin + number / self._order.per_second
                # Not less than nothing: what comes too late goes out at once, and the next at its own moment.
                await asyncio.wait([ended], timeout=max(0.0, due - time.perf_counter()))
                if ended.done():
                    break
                group.create_task(self._ask(request, due))
        await ended
        for line in lines:
            await line.__aexit__()
        return self._sent

    async def _ask(self, request: bytes, due: float) -> None:
        line = await self._free.get()
        self._sent.at.append(time.time())
        self._sent.late.append(time.perf_counter() - due)
        answer = await line.ask(request)
        self._free.put_nowait(line)
        self._sent.took.append(answer.seconds)
        if self._order.expected not in answer.body and len(self._sent.wrong) < 3:  # noqa: PLR2004 - enough to see
            self._sent.wrong.append(answer.body[:200])


def main() -> None:
    """Follow the order."""
    tell(asyncio.run(_Sender(order(Order)).send()))


if __name__ == "__main__":
    main()
