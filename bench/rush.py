"""``python -m bench rush``: the opening minute of an event, with as many players as there will be.

Without ``--url`` it starts a platform of its own. With ``--url`` it rushes an installation that is the caller's: with
``--admin-token`` it makes players there, with ``--tokens`` it takes those of a file.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from ipaddress import ip_address
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.goals import write
from bench.rush_chart import as_html
from bench.rush_people import Organiser, as_lines, read_people, seed
from bench.rush_play import play, sign_in
from bench.rush_report import Report, as_text, goals_of, report
from bench.rush_shapes import Part, Person, Place
from bench.rush_watch import Watch
from bench.server import Server, daemon
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate

#: Seconds that processes of the client have to start before the opening, and one more for each thousand players.
PREPARE = 3.0
#: One process of the client plays at most so many.
A_PROCESS = 2_500
_FILES = 65_536


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m bench rush", description=__doc__)
    made.add_argument("--players", type=int, default=2000, help="how many arrive")
    made.add_argument("--seconds", type=float, default=60, help="how long they play")
    made.add_argument("--logins", action="store_true", help="they sign in at the opening, instead of having sessions")
    made.add_argument("--url", help="an installation of your own; without it one is started")
    made.add_argument("--admin-token", help="an access token of an administrator of --url, to make the players with")
    made.add_argument("--tokens", type=Path, help="a file with a line per player: a token, or name, tab, password")
    made.add_argument("--clean", action="store_true", help="remove the players that were made, and what they did")
    made.add_argument("--i-run-this-server", action="store_true", help="you may load --url, which is not this machine")
    made.add_argument("--database", help="an empty PostgreSQL database for the server that is started")
    made.add_argument("--profile", type=Path, help="write cProfile's statistics of the server that is started here")
    made.add_argument("--out", type=Path, default=Path("rush"), help="rush.json and rush.html are written into here")
    made.add_argument("--json", type=Path, metavar="FILE", help="write goals and what was measured into this")
    made.add_argument("--seed", type=int, default=1, help="another number is another minute")
    return made


def main(arguments: Sequence[str]) -> int:
    """Rush, print, and write; status 1 where an answer was not what it should be."""
    options = parser().parse_args(arguments)
    _allow_files()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        told = _own(Path(folder), options, stack) if options.url is None else _theirs(options, stack)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "rush.json").write_bytes(msgspec.json.format(msgspec.json.encode(told)))
    (options.out / "rush.html").write_text(as_html(told))
    print(f"{as_text(told)}\n{options.out / 'rush.html'}", flush=True)
    if options.json is not None:
        write(options.json, goals_of(told, logins=options.logins))
    return 1 if told.faults else 0


def _own(folder: Path, options: argparse.Namespace, stack: ExitStack) -> Report:
    url = options.database or f"sqlite:///{folder}/rush.sqlite"
    engines = open_engines(url)
    migrate(engines.write_engine)
    key = os.urandom(64)
    (folder / "secret_key").write_bytes(key)
    people, flags = seed(engines.write_engine, options.players, key, sessions_too=not options.logins)
    kind = "PostgreSQL" if engines.dialect == "postgresql" else "SQLite"
    engines.close()
    command = daemon(folder, url, "--trusted-proxies", "127.0.0.1/32")
    if options.profile is not None:
        command[1:1] = ["--profile", str(options.profile.resolve()), "--profiler", "cprofile", "--savestats"]
    server = stack.enter_context(Server(command, folder / "platform.log"))
    place = Place("127.0.0.1", server.port, flags=flags)
    return _rush(kind, place, people, options, server)


def _theirs(options: argparse.Namespace, stack: ExitStack) -> Report:
    place = place_of(options.url, allowed=options.i_run_this_server)
    if options.tokens is not None:
        people, flags = read_people(options.tokens)[: options.players], {}
    elif options.admin_token is not None:
        organiser = Organiser(place, options.admin_token)
        if options.clean:
            stack.callback(organiser.clean)
        print(f"making {options.players} players ...", flush=True)
        people, flags = organiser.gather(options.players), organiser.flags()
        if not options.clean:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "players.txt").write_text(as_lines(people))
            print(f"they stay, and are in {options.out / 'players.txt'} for another time (--tokens)", flush=True)
    else:
        raise SystemExit("--url needs --admin-token or --tokens: somebody has to play")
    if options.logins and any(not person.password for person in people):
        raise SystemExit("--logins needs names with passwords in --tokens, or --admin-token")
    if options.logins:
        for person in people:
            person.headers = []
    else:
        print("signing them in ...", flush=True)
        sign_in(place, people)
    return _rush(options.url, msgspec.structs.replace(place, flags=flags), people, options, None)


def place_of(url: str, *, allowed: bool) -> Place:
    """Where *url* is; raises ``SystemExit`` where it is not this machine and nobody said that it may be loaded."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SystemExit(f"--url {url}: not an address like http://127.0.0.1:8000")
    if not (allowed or _is_here(parts.hostname)):
        raise SystemExit(
            f"{parts.hostname} is not this machine. A rush is an attack on whoever did not ask for it: "
            "say --i-run-this-server if it is yours."
        )
    tls = parts.scheme == "https"
    return Place(parts.hostname, parts.port or (443 if tls else 80), tls, parts.path.rstrip("/"))


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _rush(what: str, place: Place, people: list[Person], options: argparse.Namespace, server: Server | None) -> Report:
    if not people:
        raise SystemExit("nobody plays")
    processes = -(-len(people) // A_PROCESS)
    begins = time.time() + PREPARE + len(people) / 1000
    size = -(-len(people) // processes)
    parts = [
        Part(place, people[first : first + size], first, begins, options.seconds, options.seed)
        for first in range(0, len(people), size)
    ]
    print(f"{len(people)} players arrive ...", flush=True)
    with (
        Watch(place, server) as watch,
        ProcessPoolExecutor(len(parts), mp_context=get_context("spawn"), initializer=_allow_files) as pool,
    ):
        played = list(pool.map(play, parts))
    samples = [sample for one in played for sample in one.samples]
    looks = [look for look in watch.looks if look.at >= begins]
    how = "signing in at the opening" if options.logins else "with sessions in hand"
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end"
    late = [second for one in played for second in one.late]
    return report(f"{what}, {how}", len(people), options.seconds, samples, late, looks, machine)


def _allow_files() -> None:
    """A connection is an open file, and so many as players are more than a shell allows at first."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _FILES), hard))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
