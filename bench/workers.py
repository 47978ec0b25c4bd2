"""``python -m bench workers``: what two workers answer more than one, where the load comes from the same machine.

The load takes its part of the cores, and so does everything else that runs. Where the server takes 84 us for an
answer and the load 16, two cores answer at most 1.68 times what one worker does that has a core to itself, and 1.5
times with a load of 28 us, however well two workers share. So three figures stand beside each other: answers per
second as they were; the same as if no core had been taken away; and answers per CPU second of the server.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from bench import spin
from bench.event import Event, Size, play
from bench.goals import Goal, faults
from bench.hose import Hose, Order
from bench.load import request
from bench.machine import busy_seconds, cores, family
from bench.server import Server, beside, cpu_seconds, daemon
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate

#: At once, each of another player.
CONNECTIONS: Final = 32
#: How often one worker and two are measured, in turns, and for how many seconds each time.
ROUNDS, SECONDS = 5, 1.5
#: How many times as much two workers answer, and the share per CPU second.
TIMES, ALIKE = 1.6, 90
#: Name, path, and whether a player asks or anybody.
KINDS: Final = (
    ("challenge list", "/api/v1/challenges", True),
    ("scoreboard", "/api/v1/scoreboard", False),
    ("top/10", "/api/v1/scoreboard/top/10", False),
    ("one challenge", "/api/v1/challenges/7", True),
)
HEADER: Final = (
    f"{'':<16}{'bytes':>8} |{'1: req/s':>9}{'per CPU s':>10}{'load us':>8}"
    f" |{'2: req/s':>9}{'per CPU s':>10}{'load us':>8}{'left':>6}{'busier':>8}"
    f" |{'times':>7}{'of left':>8}{'per CPU s':>10}"
)


class Slice(msgspec.Struct, frozen=True):
    """A while of answers by *workers* of them; CPU seconds of the server, of the load, and of everybody else.

    *busier* is the share of the workers' CPU time that the busiest of them had.
    """

    workers: int
    cores: int
    answers: int
    seconds: float
    server: float
    load: float
    others: float
    busier: float = 1.0

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    @property
    def per_cpu_second(self) -> float:
        """Answers per CPU second of the server."""
        return self.answers / self.server

    @property
    def load_each(self) -> float:
        """CPU seconds of the load for one answer."""
        return self.load / self.answers

    @property
    def left(self) -> float:
        """Cores that the server could use: not more than it has workers, nor than load and others left to it."""
        return max(0.01, min(self.workers, self.cores - (self.load + self.others) / self.seconds))

    @property
    def per_core(self) -> float:
        """Answers per second for each core that the server could use, whether it did or not."""
        return self.per_second / self.left


class Gain(msgspec.Struct, frozen=True):
    """What two workers answer, as a multiple of what one does: per second, and per second as if none were taken away.

    *per_cpu* compares the answers per CPU second.
    """

    raw: float
    fair: float
    per_cpu: float


def gain(ones: Sequence[Slice], twos: Sequence[Slice]) -> Gain:
    """The medians over pairs that were measured one right after the other."""
    pairs = list(zip(ones, twos, strict=True))
    return Gain(
        statistics.median(two.per_second / one.per_second for one, two in pairs),
        statistics.median(two.per_core * two.workers / (one.per_core * one.workers) for one, two in pairs),
        statistics.median(two.per_cpu_second / one.per_cpu_second for one, two in pairs),
    )


def measure(folder: Path, database: str | None, scale: float) -> list[Goal]:
    """Measure and print."""
    url = database or f"sqlite:///{folder}/workers.sqlite"
    engines = open_engines(url)
    print("making the event ...", flush=True)
    migrate(engines.write_engine)
    event = play(engines.write_engine, Size())
    if cores() == 1:
        print("this machine has one core: two workers share it, and answer no more than one")
    machine = {what: spin.kept(what, SECONDS) for what in ("python", "copies")}
    told = ", ".join(f"{kept:.0%} of its {what}" for what, kept in machine.items())
    print(f"a process keeps, per CPU second, beside another that does the same: {told}")
    goals = []
    with ExitStack() as stack:
        stack.callback(engines.close)
        meters = [_Meter(stack, folder, url, workers, engines) for workers in (1, 2)]
        print(f"{engines.dialect}, {cores()} cores, {CONNECTIONS} connections from this machine\n{HEADER}", flush=True)
        for name, path, signed_in in KINDS:
            requests = _requests(event, path, signed_in=signed_in)
            rounds = [[meter.slice(requests, SECONDS * scale) for meter in meters] for _ in range(ROUNDS)]
            ones, twos = [one for one, _ in rounds], [two for _, two in rounds]
            got = gain(ones, twos)
            print(_line(name, meters[0].size, ones, twos, got), flush=True)
            goals += [
                Goal(f"{name}: 2 workers, of the cores left", TIMES, got.fair, "times", at_least=True),
                Goal(f"{name}: 2 workers, per CPU second", ALIKE, got.per_cpu * 100, "%", at_least=True),
            ]
        wrong = sum(meter.wrong for meter in meters)
    goals += [
        Goal(f"the machine: {what} that 2 processes keep, per CPU second", None, kept * 100, "%")
        for what, kept in machine.items()
    ]
    return [*goals, faults("workers: answers that were not 200", wrong)]


def _requests(event: Event, path: str, *, signed_in: bool) -> list[bytes]:
    tokens = [event.tokens[user] for user in sorted(event.tokens)[:CONNECTIONS]]
    json = ("Content-Type", "application/json")
    return [request("GET", path, [("Authorization", f"Token {one}"), json] if signed_in else [json]) for one in tokens]


class _Meter:
    """A platform with so many workers, and what it has used; *wrong* counts answers that were no good ones."""

    def __init__(self, stack: ExitStack, folder: Path, url: str, workers: int, engines: Engines) -> None:
        own = folder / f"workers{workers}"
        own.mkdir()
        command = daemon(own, url, "--workers", str(workers))
        self._workers = workers
        self._server = stack.enter_context(Server(command, own / "platform.log"))
        self._beside = beside(engines)
        self.size = self.wrong = 0

    def slice(self, requests: list[bytes], seconds: float) -> Slice:
        """Let *requests* be answered for so many seconds."""
        processes = family(self._server.pid)
        with Hose(Order(self._server.port, requests, seconds)) as hose:
            busy, before, database = busy_seconds(), [cpu_seconds(pid) for pid in processes], self._beside()
            poured = hose.result()
            used = [cpu_seconds(pid) - begin for pid, begin in zip(processes, before, strict=True)]
            server = sum(used) + self._beside() - database
            others = busy_seconds() - busy - server - poured.cpu
        self.size = poured.size
        self.wrong += poured.wrong
        times = (poured.seconds, server, poured.cpu, max(0.0, others))
        return Slice(self._workers, cores(), poured.answers, *times, max(used) / max(sum(used), 0.001))


def _line(name: str, size: int, ones: Sequence[Slice], twos: Sequence[Slice], got: Gain) -> str:
    told = [f"{name:<16}{size:>8}"]
    for slices in (ones, twos):
        rate, per_cpu, load = (
            statistics.median(getattr(one, what) for one in slices)
            for what in ("per_second", "per_cpu_second", "load_each")
        )
        told.append(f"{rate:>9.0f}{per_cpu:>10.0f}{load * 1e6:>8.1f}")
    left, busier = (statistics.median(getattr(two, what) for two in twos) for what in ("left", "busier"))
    told[-1] += f"{left:>6.2f}{busier:>8.0%}"
    told.append(f"{got.raw:>7.2f}{got.fair:>8.2f}{got.per_cpu:>10.0%}")
    return " |".join(told)
