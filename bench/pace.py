"""The board's readers while right answers come in at a steady pace; what the answers cost alone is taken off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from bench.event import Event
from bench.load import Measured, Wanted, run_all
from bench.rows import rows
from bench.server import Server
from bench.watch import Line, Meter
from ctfd_twisted.db.engine import Engines

NAME = "scoreboard while answers come"

#: At once, at most: an answer that takes longer than the pace must not hold up the next.
_LINES = 8
#: Seconds for which the answers come alone.
_ALONE = 4


class Paced(msgspec.Struct, frozen=True):
    """What reads cost, in CPU seconds each, and how many answers came meanwhile."""

    reads: Measured
    quiet: float
    busy: float
    answers: int
    each: float


class Pace:
    """Sends *wanted* one after the other, *per_second* of them, until it is stopped."""

    def __init__(self, port: int, wanted: Iterator[Wanted], per_second: float) -> None:
        self._port = port
        self._wanted = wanted
        self._apart = 1 / per_second
        self.sent = 0
        self.wrong: list[bytes] = []

    async def go_on(self, stop: asyncio.Event) -> None:
        """Send until *stop* is set."""
        free: asyncio.Queue[Line] = asyncio.Queue()
        lines = [Line(self._port) for _ in range(_LINES)]
        for line in lines:
            free.put_nowait(await line.__aenter__())
        asked: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not stop.is_set():
            asked.add(task := asyncio.create_task(self._ask(next(self._wanted), free)))
            task.add_done_callback(asked.discard)
            due += self._apart
            await asyncio.sleep(max(0, due - loop.time()))
        await asyncio.gather(*asked)
        for line in lines:
            await line.__aexit__()

    async def _ask(self, one: Wanted, free: asyncio.Queue[Line]) -> None:
        line = await free.get()
        answer = await line.ask(one.request)
        free.put_nowait(line)
        self.sent += 1
        if one.expected not in answer.body and len(self.wrong) < 3:  # noqa: PLR2004 - enough to see what is wrong
            self.wrong.append(answer.body[:200])


def busy_board(event: Event, platform: Server, engines: Engines, scale: float, per_second: float) -> int:
    """Measure and print; how many answers were not what they should be. Takes the pairs that other rows left."""
    named = {row.name: row for row in rows(event, platform.port, scale)}
    board, right = named["scoreboard"], named["right attempt"]
    meter = Meter(platform.pid, engines)
    meter.find()
    answers = right.make(len(event.unsolved))
    # The row of right answers has given the first of them, if it was asked for.
    fresh = (one for number, one in enumerate(answers) if number >= right.count)
    paced = _measure(platform.port, meter, list(board.make(board.count)), fresh, per_second)
    reads = paced.reads
    rate = reads.requests / reads.seconds
    p50, p99 = (reads.percentile(share) * 1000 for share in (0.5, 0.99))
    print(
        f"{NAME}: {paced.quiet * 1e6:.0f} us of CPU a read in quiet; {paced.busy * 1e6:.0f} us"
        f" ({paced.quiet / paced.busy:.0%} as many) while {per_second:.0f} answers a second come ({paced.answers} came,"
        f" {paced.each * 1e6:.0f} us each taken off); {rate:.0f} reads/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms",
        flush=True,
    )
    for fault in reads.wrong:
        print(f"    unexpected: {fault!r}")
    return len(reads.wrong)


def _measure(port: int, meter: Meter, reads: Sequence[Wanted], answers: Iterator[Wanted], per_second: float) -> Paced:
    """The cost of *reads* in quiet, then while *answers* come; what the answers cost alone is taken off."""
    asyncio.run(run_all(port, reads[:200]))
    before = meter.used
    quiet = asyncio.run(run_all(port, reads))
    quiet_cost = (meter.used - before) / quiet.requests
    meter.settle()
    before = meter.used
    alone = Pace(port, answers, per_second)
    asyncio.run(_for_a_while(alone))
    meter.settle()
    each = (meter.used - before) / alone.sent
    before = meter.used
    pace = Pace(port, answers, per_second)
    measured = asyncio.run(_both(port, reads, pace))
    meter.settle()
    busy = (meter.used - before - pace.sent * each) / measured.requests
    measured.wrong.extend(alone.wrong + pace.wrong)
    return Paced(measured, quiet_cost, busy, pace.sent, each)


async def _for_a_while(pace: Pace) -> None:
    stop = asyncio.Event()
    going = asyncio.create_task(pace.go_on(stop))
    await asyncio.sleep(_ALONE)
    stop.set()
    await going


async def _both(port: int, reads: Sequence[Wanted], pace: Pace) -> Measured:
    stop = asyncio.Event()
    going = asyncio.create_task(pace.go_on(stop))
    measured = await run_all(port, reads)
    stop.set()
    await going
    return measured
