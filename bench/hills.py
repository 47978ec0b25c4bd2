"""Many hills that are asked often: how late their ticks begin, and what that costs."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from sqlalchemy import Connection, select, update

from bench.goals import Goal, faults
from bench.server import Server, beside, daemon
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.testing.builders import a_user
from ctfd_twisted.testing.hills import a_hill

#: Seconds until all is warm; what is due before does not count.
WARM = 6
#: Seconds in which the last ticks are recorded.
LAST = 3


class Wanted(msgspec.Struct, frozen=True):
    """How many hills, each asked every *interval* seconds, for *seconds*; *together*: all at the same moments."""

    hills: int = 1_000
    interval: int = 5
    seconds: int = 30
    together: bool = False


class Measured(msgspec.Struct, frozen=True):
    """What became of the ticks that were due while it was measured: how late each began, in seconds."""

    lateness: list[float]
    outcomes: Counter[str]
    cpu: float
    seconds: float

    def percentile(self, share: float) -> float:
        """The lateness that *share* of the ticks stayed within."""
        ordered = sorted(self.lateness)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def measure(folder: Path, database: str | None, wanted: Wanted) -> list[Goal]:
    """Measure and print."""
    url = database or f"sqlite:///{folder}/hills.sqlite"
    engines = open_engines(url)
    migrate(engines.write_engine)
    with ExitStack() as stack:
        stack.callback(engines.close)
        agent = stack.enter_context(Server([sys.executable, "-m", "bench.agent"], folder / "agent.log"))
        with engines.write_engine.begin() as conn:
            _place(conn, agent.port, wanted)
        platform = stack.enter_context(Server(daemon(folder, url), folder / "platform.log"))
        measured = _watch(engines, platform, beside(engines), wanted)
        memory = platform.memory_mb
    how = "all at once" if wanted.together else "spread evenly"
    print(f"{wanted.hills} hills, every {wanted.interval} s, {how}, for {measured.seconds:.0f} s")
    print(f"ticks/s      {measured.outcomes.total() / measured.seconds:8.1f}  {dict(measured.outcomes)}")
    print(
        "begun late   " + "  ".join(f"p{share * 100:g} {measured.percentile(share) * 1000:.1f} ms" for share in _SHARES)
    )
    print(f"CPU          {measured.cpu / measured.seconds:8.2f}  cores; {measured.cpu:.1f} s", end="")
    print(f", {measured.cpu / max(1, measured.outcomes.total()) * 1000:.2f} ms a tick")
    print(f"memory       {memory:8.0f}  MB")
    not_held = measured.outcomes.total() - measured.outcomes["held"]
    late, used = measured.percentile(0.99) * 1000, measured.cpu / measured.seconds * 100
    return [
        faults(f"{wanted.hills} hills: ticks that were not held", not_held),
        Goal(f"{wanted.hills} hills, {how}: begun late, p99", None, late, "ms"),
        Goal(f"{wanted.hills} hills: CPU, of a core", None, used, "%"),
    ]


_SHARES = (0.5, 0.9, 0.99, 1)


def _place(conn: Connection, port: int, wanted: Wanted) -> None:
    write_config(conn, {"setup": "true", "ctf_name": "Bench", "user_mode": "users"})
    a_user(conn, name="ada")
    begin = datetime.now(UTC).replace(microsecond=0)
    for number in range(wanted.hills):
        hill = a_hill(conn, url=f"http://127.0.0.1:{port}/status", interval=wanted.interval)
        if not wanted.together:
            shift = timedelta(seconds=wanted.interval * number / wanted.hills)
            conn.execute(update(hills).where(hills.c.challenge_id == hill).values(first_tick=begin + shift))


def _watch(engines: Engines, platform: Server, others: Callable[[], float], wanted: Wanted) -> Measured:
    def used() -> float:
        return platform.cpu_seconds + others()

    time.sleep(WARM)
    begin, before = datetime.now(UTC), used()
    time.sleep(wanted.seconds)
    end, cpu = datetime.now(UTC), used() - before
    time.sleep(LAST)
    counted = select(ticks.c.due, ticks.c.started, ticks.c.outcome).where(ticks.c.due.between(begin, end))
    with engines.reader() as conn:
        rows = conn.execute(counted).all()
    lateness = [(row.started - row.due).total_seconds() for row in rows if row.started is not None]
    return Measured(lateness, Counter(row.outcome for row in rows), cpu, (end - begin).total_seconds())
