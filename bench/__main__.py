"""``python -m bench``: the real daemon on a seeded event, beside a bare Klein route of the same size.

``python -m bench hills``: the real daemon with many hills, and an agent.

``python -m bench admin``: the real daemon on a big event, and an administrator.

``python -m bench uploads``: one large upload, into a folder and into a bucket.

``python -m bench live``: the real daemon with thousands who listen to the board.

``python -m bench rush``: the opening minute, on a server of its own or on yours; its options are its own (``--help``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench import admin, hills, live, pace, rush, uploads
from bench.event import Size, play
from bench.load import Measured, Wanted, request, run
from bench.rows import Row, rows
from bench.server import Server, beside, daemon
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate

HEADER = (
    f"{'':<28}{'bytes':>8}{'req/s':>8}{'p50 ms':>8}{'p99 ms':>8}{'CPU s/1000':>12}{'req/CPU s':>11}"
    f"{'bare':>8}{'share':>8}{'goal':>7}{'MB':>6}"
)


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


def main() -> int:
    """Measure and print; status 1 where an answer was not what it should be."""
    if sys.argv[1:2] == ["rush"]:
        return rush.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=["event", "hills", "admin", "uploads", "live"],
        default="event",
        help="what is measured",
    )
    parser.add_argument("--database", help="an empty PostgreSQL database to use instead of an SQLite file")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times the usual number of requests")
    parser.add_argument("--solves", type=int, default=Size().solves, help="event: so many are in the database already")
    parser.add_argument("--pace", type=float, default=100, help="event: right answers a second beside readers")
    parser.add_argument("--only", default="", help="measure the rows whose name contains this")
    parser.add_argument("--together", action="store_true", help="hills: all are due at the same moments")
    parser.add_argument("--mebibytes", type=int, default=2048, help="uploads: the size of each")
    parser.add_argument("--clients", type=int, default=10_000, help="live: so many listen")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "hills":
            return hills.measure(Path(folder), options.database, hills.Wanted(together=options.together))
        if options.what == "live":
            return live.measure(Path(folder), options.database, live.Wanted(clients=options.clients))
        if options.what == "uploads":
            return uploads.measure(Path(folder), options.mebibytes)
        if options.what == "admin":
            return admin.measure(Path(folder), options.database, options.only)
        return _measure(Path(folder), options)


def _measure(folder: Path, options: argparse.Namespace) -> int:
    database, only = options.database, options.only
    url = database or f"sqlite:///{folder}/bench.sqlite"
    engines = open_engines(url)
    print("making the event ...", flush=True)
    migrate(engines.write_engine)
    event = play(engines.write_engine, _size(options.solves))
    command = daemon(folder, url, "--trusted-proxies", "127.0.0.1/32")
    faults = 0
    with ExitStack() as stack:
        platform = stack.enter_context(Server(command, folder / "platform.log"))
        bare = stack.enter_context(Server([sys.executable, "-m", "bench.bare"], folder / "bare.log"))
        kind = "PostgreSQL" if database else "SQLite"
        size = f"{event.challenges} challenges, {options.solves} solves"
        print(f"{kind}, {size}, memory before {platform.memory_mb:.0f} MB\n{HEADER}", flush=True)
        others = beside(engines)
        for row in rows(event, platform.port, options.scale):
            if only in row.name:
                line = _line(row, platform, bare, others)
                _print(row, line)
                faults += len(line.measured.wrong)
        if only in pace.NAME:
            faults += pace.busy_board(event, platform, engines, options.scale, options.pace)
        print(f"memory after {platform.memory_mb:.0f} MB")
    engines.close()
    return 1 if faults else 0


def _size(solves: int) -> Size:
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
        f"{line.bare:>8.0f}{line.per_cpu_second / line.bare:>8.1%}{goal:>7}{line.memory_mb:>6.0f}",
        flush=True,
    )
    for fault in measured.wrong:
        print(f"    unexpected: {fault!r}")


if __name__ == "__main__":
    sys.exit(main())
