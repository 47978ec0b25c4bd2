"""Measures the real daemon on this machine. Each of these has a platform of its own, and asks it over loopback.

``event`` (or nothing): requests on a seeded event, beside a bare Klein route of the same size; with ``--and-tenfold``
again with ten times the solves. ``rush``: the opening minute, on a server of its own or on yours; its options are its
own (``rush --help``). ``workers``: what two workers answer more than one. ``hooks``: webhooks to ten endpoints.
``live``: thousands who listen to the board. ``hills``: a thousand hills, and an agent. ``admin``: an administrator of a
big event. ``uploads``: one large upload, into a folder and into a bucket. ``all``: all of these, in a table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import admin, every, hills, hooks, live, rush, table, uploads, workers
from bench.event import Size
from bench.goals import Goal, status, write

_Measure = Callable[[Path, argparse.Namespace], list[Goal]]
_MEASURES: dict[str, _Measure] = {
    "event": lambda folder, told: table.measure(
        folder,
        told.database,
        table.Options(told.solves, told.scale, told.pace, told.only),
        and_tenfold=told.and_tenfold,
    ),
    "workers": lambda folder, told: workers.measure(folder, told.database, told.scale),
    "hooks": lambda folder, told: hooks.measure(folder, told.database),
    "live": lambda folder, told: live.measure(folder, told.database, live.Wanted(clients=told.clients)),
    "hills": lambda folder, told: hills.measure(folder, told.database, hills.Wanted(together=told.together)),
    "admin": lambda folder, told: admin.measure(folder, told.database, told.only),
    "uploads": lambda folder, told: uploads.measure(folder, told.mebibytes),
}


def parser() -> argparse.ArgumentParser:
    """The options of all but ``rush``."""
    made = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("what", nargs="?", choices=[*_MEASURES, "all"], default="event", help="what is measured")
    made.add_argument(
        "--database",
        help="an empty PostgreSQL database to use instead of an SQLite file; all, and --and-tenfold: make others there",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write goals and what was measured into this")
    made.add_argument("--scale", type=float, default=1.0, help="event, workers: so many times the usual number")
    made.add_argument("--solves", type=int, default=Size().solves, help="event: so many are in the database already")
    made.add_argument("--and-tenfold", action="store_true", help="event: then again with ten times the solves")
    made.add_argument("--pace", type=float, default=100, help="event: right answers a second beside readers")
    made.add_argument("--only", default="", help="event, admin: the rows whose name contains this; all: these parts")
    made.add_argument("--together", action="store_true", help="hills: all are due at the same moments")
    made.add_argument("--mebibytes", type=int, default=2048, help="uploads: the size of each")
    made.add_argument("--clients", type=int, default=10_000, help="live: so many listen")
    made.add_argument("--out", type=Path, default=Path("measured"), help="all: goals.json and the rest go into this")
    return made


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write; status 1 where a goal was missed or an answer was not what it should be."""
    if arguments[:1] == ["rush"]:
        return rush.main(arguments[1:])
    options = parser().parse_args(arguments)
    if options.what == "all":
        goals = every.measure(options.out, options.database, options.only)
    else:
        with tempfile.TemporaryDirectory() as folder:
            goals = _MEASURES[options.what](Path(folder), options)
    if options.json is not None:
        write(options.json, goals)
    return status(goals)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
