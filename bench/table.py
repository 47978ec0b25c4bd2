"""``python -m bench``: the real daemon on a seeded event, beside a bare Klein route of the same size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench import pace
from bench.databases import one_of_its_own
from bench.event import Size, play
from bench.goals import Goal, faults
from bench.load import Measured, Wanted, request, run
from bench.rows import Row, rows
from bench.server import Server, beside, daemon
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate

HEADER = (
    f"{'':<28}{'bytes':>8}{'req/s':>8}{'p50 ms':>8}{'p99 ms':>8}{'CPU s/1000':>12}{'req/CPU s':>11}"
    f"{'bare':>8}{'share':>8}{'goal':>7}{'MB':>6}"
)
#: With ten times the solves: what a row's share of the bare route keeps at least, in per cent.
ALIKE = 90


class Options(msgspec.Struct, frozen=True):
    """What is measured: *scale* times the usual number of requests, of rows whose names contain *only*."""

    solves: int
    scale: float = 1.0
    pace: float = 100
    only: str = ""


class Line(msgspec.Struct, frozen=True):
    """One measured row; *bare* is the bare route's requests per CPU-second at the same size."""

    measured: Measured
    cpu: float
    bare: float
    memory_mb: float

    @property
    def per_cpu_second(self) -> float:
        """Requests per CPU-second of the server."""
        return self.measured.requests / max(self.cpu, 0.01)

    @property
    def share(self) -> float:
        """The part that these are of the bare route's."""
        return self.per_cpu_second / self.bare


class Table(msgspec.Struct, frozen=True):
    """The lines by the names of their rows, and what was aimed at."""

    lines: dict[str, Line]
    goals: list[Goal]


def measure(folder: Path, database: str | None, options: Options, *, and_tenfold: bool) -> list[Goal]:
    """Measure and print; with *and_tenfold* then again with ten times the solves, in a database of its own."""
    table = _table(folder, database or f"sqlite:///{folder}/bench.sqlite", options)
    if not and_tenfold:
        return table.goals
    more = msgspec.structs.replace(options, solves=options.solves * 10)
    with one_of_its_own(folder, database, "tenfold") as url:
        tenfold = _table(folder, url, more)
    print(f"\n{more.solves} solves, of {options.solves}:\n{'':<28}{'req/CPU s':>11}{'bytes':>8}{'share':>8}")
    for name, few, many in _both(table, tenfold):
        figures = (many.per_cpu_second / few.per_cpu_second, many.measured.size / few.measured.size)
        print(f"{name:<28}{figures[0]:>11.0%}{figures[1]:>8.0%}{many.share / few.share:>8.0%}")
    wrong = [msgspec.structs.replace(one, what=f"{one.what}, 10x the solves") for one in tenfold.goals if one.goal == 0]
    return [*table.goals, *compare(table, tenfold), *wrong]


def compare(table: Table, tenfold: Table) -> list[Goal]:
    """What each row that has a goal keeps of its share of the bare route, which answers as many bytes."""
    kept = {name: many.share / few.share * 100 for name, few, many in _both(table, tenfold)}
    return [
        Goal(f"{name}: share kept with 10x the solves", ALIKE, kept[name], "%", at_least=True)
        for name in kept
        if any(one.what == of_bare(name) for one in table.goals)
    ]


def _both(table: Table, tenfold: Table) -> Iterator[tuple[str, Line, Line]]:
    for name, few in table.lines.items():
        if name in tenfold.lines:
            yield name, few, tenfold.lines[name]


def _table(folder: Path, url: str, options: Options) -> Table:
    engines = open_engines(url)
    print("making the event ...", flush=True)
    migrate(engines.write_engine)
    event = play(engines.write_engine, size_of(options.solves))
    command = daemon(folder, url, "--trusted-proxies", "127.0.0.1/32")
    lines: dict[str, Line] = {}
    goals: list[Goal] = []
    with ExitStack() as stack:
        stack.callback(engines.close)
        platform = stack.enter_context(Server(command, folder / "platform.log"))
        bare = stack.enter_context(Server([sys.executable, "-m", "bench.bare"], folder / "bare.log"))
        kind = "PostgreSQL" if engines.dialect == "postgresql" else "SQLite"
        size = f"{event.challenges} challenges, {options.solves} solves"
        print(f"{kind}, {size}, memory before {platform.memory_mb:.0f} MB\n{HEADER}", flush=True)
        others = beside(engines)
        for row in rows(event, platform.port, options.scale, engines.dialect):
            if options.only in row.name:
                line = lines[row.name] = _line(row, platform, bare, others)
                _print(row, line)
                if row.expected is not None:
                    share = line.share * 100
                    goals.append(Goal(of_bare(row.name), round(row.expected * 100), share, "%", at_least=True))
        if options.only in pace.NAME:
            board = lines.get("scoreboard")
            bare_too = 0.0 if board is None else board.bare
            goals += pace.busy_board(event, platform, engines, options.scale, options.pace, bare_too)
        print(f"memory after {platform.memory_mb:.0f} MB")
    return Table(lines, [*goals, _wrong(lines.values())])


def _wrong(lines: Iterable[Line]) -> Goal:
    return faults("unexpected answers", sum(len(line.measured.wrong) for line in lines))


def of_bare(name: str) -> str:
    """What the goal of the row *name* is called."""
    return f"{name}: of a bare route"


def size_of(solves: int) -> Size:
    """An event in which there are so many solves, and accounts enough to have them."""
    usual = Size()
    times = max(1, -(-solves // usual.solves))
    return Size(usual.teams * times, usual.users * times, usual.challenges, solves, usual.wrong * times)


def _line(row: Row, platform: Server, bare: Server, others: Callable[[], float]) -> Line:
    wanted = list(row.make(row.count))
    run(platform.port, wanted[: row.warm] if row.before is None else list(row.before(row.count)))
    measured, cpu = _with_cpu(platform, others, lambda: run(platform.port, wanted))
    same = [Wanted(request("GET", f"/{measured.size}"), b"200 OK")] * max(2000, min(row.count, 6000))
    run(bare.port, same[:200])
    limit, limit_cpu = _with_cpu(bare, lambda: 0.0, lambda: run(bare.port, same))
    return Line(measured, cpu, limit.requests / max(limit_cpu, 0.01), platform.memory_mb)


def _with_cpu(server: Server, others: Callable[[], float], work: Callable[[], Measured]) -> tuple[Measured, float]:
    def used() -> float:
        return server.cpu_seconds + others()

    before = used()
    measured = work()
    return measured, used() - before


def _print(row: Row, line: Line) -> None:
    measured = line.measured
    goal = "" if row.expected is None else f"{row.expected:.0%}"
    print(
        f"{row.name:<28}{measured.size:>8}{measured.requests / measured.seconds:>8.0f}"
        f"{measured.percentile(0.5) * 1000:>8.1f}{measured.percentile(0.99) * 1000:>8.1f}"
        f"{line.cpu / measured.requests * 1000:>12.3f}{line.per_cpu_second:>11.0f}"
        f"{line.bare:>8.0f}{line.share:>8.1%}{goal:>7}{line.memory_mb:>6.0f}",
        flush=True,
    )
    for fault in measured.wrong:
        print(f"    unexpected: {fault!r}")
