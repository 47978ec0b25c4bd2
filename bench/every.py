"""``python -m bench all``: every measurement, one after the other, and all goals in one table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.databases import one_of_its_own
from bench.goals import Goal, faults, read, table, write
from bench.machine import cores

#: Seconds that a part has to clean up after it was told to end.
_CLEANS: Final = 30


class Part(msgspec.Struct, frozen=True):
    """One command, and the seconds after which it is given up; *prefix* stands before the names of its goals."""

    name: str
    arguments: tuple[str, ...]
    limit: int
    prefix: str = ""
    databases: bool = True


PARTS: Final = (
    Part("event", ("event", "--and-tenfold"), 900),
    Part("rush", ("rush", "--players", "2000"), 240),
    Part("logins", ("rush", "--players", "2000", "--logins"), 240),
    Part("workers", ("workers",), 300),
    Part("hooks", ("hooks",), 240),
    Part("live", ("live",), 300),
    Part("hills", ("hills",), 120),
    Part("admin", ("admin",), 900),
    Part("uploads", ("uploads",), 300, databases=False),
)


def measure(out: Path, database: str | None, only: str) -> list[Goal]:
    """Run the parts whose names contain *only*; print, and write what each printed and all goals into *out*."""
    parts = [part for part in PARTS if only in part.name]
    if not parts:
        raise SystemExit(f"--only {only}: there are {', '.join(part.name for part in PARTS)}")
    out.mkdir(parents=True, exist_ok=True)
    kind = "SQLite" if database is None else "PostgreSQL"
    print(f"{kind}, {cores()} cores, load {os.getloadavg()[0]:.1f}: ", end="")
    print(f"{len(parts)} parts, at most {minutes(sum(part.limit for part in parts))} in all", flush=True)
    goals: list[Goal] = []
    begun = time.monotonic()
    for number, part in enumerate(parts, 1):
        since = minutes(time.monotonic() - begun)
        print(f"[{number}/{len(parts)}] {since:>7}  {part.name} ({minutes(part.limit)} at most) ...", flush=True)
        found = _run(part, out, database)
        goals += found
        missed = [one.what for one in found if not one.met]
        print(f"{'':<15}missed: {'; '.join(missed)}" if missed else f"{'':<15}nothing missed", flush=True)
    write(out / "goals.json", goals)
    took = minutes(time.monotonic() - begun)
    print(f"\n{table(goals)}\n\n{took}; {out / 'goals.json'}, and what each part printed beside it", flush=True)
    return goals


def minutes(seconds: float) -> str:
    """As people read it: ``45 s``, ``12 min``."""
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 - a minute


def _run(part: Part, out: Path, database: str | None) -> list[Goal]:
    told = out / f"{part.name}.json"
    told.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if database is None or not part.databases:
            ended = _process(part, out, told, ())
        else:
            with one_of_its_own(Path(folder), database, part.name) as url:
                ended = _process(part, out, told, ("--database", url))
    if not told.exists():
        why = "has failed" if ended else f"did not end within {minutes(part.limit)}"
        print(f"{'':<15}{part.name} {why}: see {out / f'{part.name}.log'}")
        return [faults(f"{part.name} {why}", 1)]
    return read(told)


def _process(part: Part, out: Path, told: Path, where: Sequence[str]) -> bool:
    """Run it in a process of its own, with all that it starts; whether it came to an end by itself."""
    command = [sys.executable, "-m", "bench", *part.arguments, *where, "--json", str(told)]
    if part.arguments[0] == "rush":
        command += ["--out", str(out / part.name)]
    with (out / f"{part.name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)  # noqa: S603 - ours
        try:
            process.wait(part.limit)
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(process)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a process that still runs clean up, and end what is left of its group."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_CLEANS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
