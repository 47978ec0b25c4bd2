"""Thousands who listen to the board, and how soon all of them know that it has changed."""

from __future__ import annotations

import http.client
import json
import resource
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench.event import Event, Size, flag_of, play
from bench.goals import Goal
from bench.server import Server, daemon
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate

#: A player may have ten streams open, an address two thousand.
PER_PLAYER: Final = 8
PER_ADDRESS: Final = 1_000
#: Handshakes under way at a time: a listening socket's queue is short.
AT_ONCE: Final = 40
CHANNELS: Final = "scoreboard,solves,koth,notifications"
_CHANGED: Final = b"event:scoreboard"
#: The board as it stands: at the beginning, and where more rows than not have changed.
_WHOLE: Final = b'"channel":"scoreboard"'
#: The goals: kilobytes for each who listens, and seconds until all know.
ROOM: Final = 12
SOON: Final = 1


class Wanted(msgspec.Struct, frozen=True):
    """How many listen, and how often the board changes."""

    clients: int = 10_000
    changes: int = 20


class _Client:
    """One connection; ``heard`` is when it was told of the board last, 0 before the first time."""

    __slots__ = ("heard", "socket", "tail")

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.tail = b""
        self.heard = 0.0

    def read(self) -> None:
        """Take what has come."""
        data = self.socket.recv(262_144)
        if not data:
            raise ConnectionError("the server has closed a stream")
        text = self.tail + data
        for told in (_CHANGED, _WHOLE):
            if told in text:
                self.heard = time.perf_counter()
                text = text[text.rindex(told) + len(told) :]
        self.tail = text[-len(_WHOLE) :]


class _Crowd:
    """All who listen."""

    def __init__(self, port: int, event: Event) -> None:
        self._port = port
        self._tokens = list(event.tokens.values())
        self._selector = selectors.EpollSelector()
        self.clients: list[_Client] = []

    def grow(self, count: int) -> None:
        """Let *count* more connect, and wait until each knows how the board stands."""
        for begin in range(0, count, AT_ONCE):
            wave = [self._connect() for _ in range(min(AT_ONCE, count - begin))]
            self._until(partial(_have_begun, wave), 60)

    def _connect(self) -> _Client:
        number = len(self.clients)
        token = self._tokens[number // PER_PLAYER]
        here = f"127.0.1.{1 + number // PER_ADDRESS}"
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=30, source_address=(here, 0))
        sock.sendall(
            f"GET /events?channels={CHANNELS} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Accept: text/event-stream\r\nAuthorization: Token {token}\r\n\r\n".encode()
        )
        sock.setblocking(False)
        client = _Client(sock)
        self.clients.append(client)
        self._selector.register(sock, selectors.EVENT_READ, client)
        return client

    def idle(self, seconds: float) -> None:
        """Take what comes for so long."""
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            self._read(0.05)

    def hear(self, since: float) -> list[float]:
        """Wait until all have heard of a change after *since*; after how many seconds each has."""
        self._until(lambda: all(client.heard > since for client in self.clients), 30)
        return [client.heard - since for client in self.clients]

    def _until(self, done: Callable[[], bool], seconds: float) -> None:
        ends = time.perf_counter() + seconds
        while not done():
            if time.perf_counter() > ends:
                raise TimeoutError(f"not within {seconds:.0f} s")
            self._read(0.02)

    def _read(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            key.data.read()


def _have_begun(clients: Sequence[_Client]) -> bool:
    return all(client.heard for client in clients)


def measure(folder: Path, database: str | None, wanted: Wanted) -> list[Goal]:
    """Measure and print."""
    _raise_limit(2 * wanted.clients + 500)
    url = database or f"sqlite:///{folder}/bench.sqlite"
    engines = open_engines(url)
    migrate(engines.write_engine)
    teams = Size().teams
    members = max(4, -(-wanted.clients // (PER_PLAYER * teams)))
    event = play(engines.write_engine, Size(users=members * teams))
    engines.close()
    with Server(daemon(folder, url), folder / "platform.log") as server:
        crowd = _Crowd(server.port, event)
        crowd.grow(AT_ONCE)
        crowd.idle(2)
        before, first, cpu = server.memory_mb, len(crowd.clients), server.cpu_seconds
        began = time.perf_counter()
        crowd.grow(wanted.clients - first)
        took, used = time.perf_counter() - began, server.cpu_seconds - cpu
        crowd.idle(3)
        more = len(crowd.clients) - first
        kilobytes = (server.memory_mb - before) * 1024 / more
        print(f"{more} came in {took:.1f} s, {used / more * 1000:.2f} ms of CPU each; {kilobytes:.1f} kB each")
        cpu = server.cpu_seconds
        crowd.idle(15)
        print(f"idle: {(server.cpu_seconds - cpu) / 15:.1%} of a core")
        slowest = _changes(server, crowd, event, wanted.changes)
        print(f"memory {server.memory_mb:.0f} MB, at most {server.peak_mb:.0f} MB")
    return [
        Goal(f"{wanted.clients} listen: memory for each", ROOM, kilobytes, "kB"),
        Goal(f"{wanted.clients} listen: until all know of a change", SOON, slowest, "s"),
    ]


def _changes(server: Server, crowd: _Crowd, event: Event, count: int) -> float:
    """Let the board change *count* times, and print how long it took until all knew; the longest time in seconds."""
    heard: list[float] = []
    last: list[float] = []
    cpu = server.cpu_seconds
    for since in _solve(server.port, event, count):
        times = crowd.hear(since)
        heard += times
        last.append(max(times))
        crowd.idle(0.6)
    used = server.cpu_seconds - cpu
    parts = statistics.quantiles(heard, n=100)
    print(
        f"{count} changes, from the question to the last byte: p50 {_ms(parts[49])}, p99 {_ms(parts[98])}, "
        f"max {_ms(max(heard))}; all knew after {_ms(statistics.median(last))} in the median; "
        f"{used / count * 1000:.0f} ms of CPU each"
    )
    return max(heard)


def _solve(port: int, event: Event, count: int) -> Iterator[float]:
    """Answer challenges right that move the board; when each was sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for user, challenge in _of_different_teams(event.unsolved, count):
        body = json.dumps({"challenge_id": challenge, "submission": flag_of(challenge)})
        headers = {"Content-Type": "application/json", "Authorization": f"Token {event.tokens[user]}"}
        began = time.perf_counter()
        connection.request("POST", "/api/v1/challenges/attempt", body, headers)
        answer = json.loads(connection.getresponse().read())
        if answer["data"]["status"] != "correct":
            raise AssertionError(answer)
        yield began


def _of_different_teams(unsolved: Sequence[tuple[int, int]], count: int) -> Sequence[tuple[int, int]]:
    """Some of *unsolved*, each of another user."""
    return list({user: (user, challenge) for user, challenge in unsolved}.values())[:count]


def _raise_limit(files: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, hard), hard))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
