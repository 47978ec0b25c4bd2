"""The board's readers while right answers come in at a steady pace; what the answers cost alone is taken off.

Each answer changes the board once, whatever the number of reads: so a read costs the less, the more of them there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from bench.event import Event
from bench.goals import Goal, faults
from bench.hose import Hose, Order, Poured
from bench.load import Wanted, request
from bench.rows import rows
from bench.server import Server
from bench.steady import Order as Answers
from bench.steady import Sent, Steady
from bench.watch import Meter
from ctfd_twisted.db.engine import Engines

NAME = "scoreboard while answers come"

#: Per CPU second, of the bare route's answers: the same share as that of the board in quiet, in per cent.
SHARE = 75
#: Connections that read.
_READERS = 16
#: Seconds in which the board is read in quiet, in which answers come alone, in which both is, and before each.
_QUIET, _ALONE, _BOTH, _WARM = 3.0, 5.0, 8.0, 1.0


class Paced(msgspec.Struct, frozen=True):
    """What a read costs in quiet and while answers come, and an answer alone, in CPU seconds; *pace* is a second's."""

    quiet: float
    busy: float
    each: float
    pace: float
    reads: Poured
    faults: int


def busy_board(
    event: Event, platform: Server, engines: Engines, scale: float, per_second: float, bare: float
) -> list[Goal]:
    """Measure and print. Takes the pairs that other rows left.

    *bare* is what the bare route answers per CPU second at the board's size, or 0 where that was not measured.
    """
    right = next(row for row in rows(event, platform.port, scale, engines.dialect) if row.name == "right attempt")
    # The row of right answers has given the first of them, if it was asked for.
    fresh = [one for number, one in enumerate(right.make(len(event.unsolved))) if number >= right.count]
    meter = Meter(platform.pid, engines)
    meter.find()
    paced = _measure(platform.port, meter, iter(fresh), per_second)
    reads = paced.reads
    growth = (paced.busy - paced.quiet) * reads.answers / (paced.pace * reads.seconds)
    print(
        f"{NAME}: {paced.quiet * 1e6:.0f} us of CPU a read in quiet; {paced.busy * 1e6:.0f} us"
        f" ({paced.quiet / paced.busy:.0%} as many) while {paced.pace:.1f} answers a second come"
        f" ({paced.each * 1e6:.0f} us each taken off, and the board {growth * 1e6:.0f} us each);"
        f" {reads.answers / reads.seconds:.0f} reads/s,"
        f" p50 {reads.p50 * 1000:.1f} ms, p99 {reads.p99 * 1000:.1f} ms",
        flush=True,
    )
    wrong = faults(f"{NAME}: faults", paced.faults)
    if not bare:
        return [wrong]
    return [Goal(f"{NAME}: of a bare route", SHARE, 100 / paced.busy / bare, "%", at_least=True), wrong]


def _measure(port: int, meter: Meter, answers: Iterator[Wanted], per_second: float) -> Paced:
    board = Order(port, [request("GET", "/api/v1/scoreboard")] * _READERS, _QUIET, _WARM)
    with Hose(board) as hose:
        before = meter.used
        alone = hose.result()
        quiet = (meter.used - before) / alone.answers
    meter.settle()
    with Steady(_answers(port, answers, per_second, _ALONE + 2 * _WARM)) as steady:
        time.sleep(_WARM)
        before, begin = meter.used, time.time()
        time.sleep(_ALONE)
        used, end = meter.used - before, time.time()
        first = steady.result()
    each = used / first.between(begin, end)
    meter.settle()
    with Steady(_answers(port, answers, per_second, _BOTH + 6 * _WARM)) as steady:
        with Hose(msgspec.structs.replace(board, seconds=_BOTH)) as hose:
            before, begin = meter.used, time.time()
            reads = hose.result()
            used, end = meter.used - before, time.time()
        second = steady.result()
    came = second.between(begin, end)
    wrong = _told([first, second]) + alone.wrong + reads.wrong
    return Paced(quiet, (used - came * each) / reads.answers, each, came / (end - begin), reads, wrong)


def _answers(port: int, answers: Iterator[Wanted], per_second: float, seconds: float) -> Answers:
    """So many of *answers* as are sent within *seconds*."""
    some = [one for one, _ in zip(answers, range(int(per_second * seconds)), strict=False)]
    return Answers(port, [one.request for one in some], b'"status":"correct"', per_second)


def _told(sent: list[Sent]) -> int:
    wrong = [text for one in sent for text in one.wrong]
    for text in wrong:
        print(f"    unexpected: {text!r}")
    return len(wrong)
