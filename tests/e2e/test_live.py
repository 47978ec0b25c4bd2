"""Claims about the channels of events over real connections, on two workers of one node."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import pytest
from organiser import set_up
from running import Person, PlatformProcess, eventually
from test_workers import Event, workers

ALL = "scoreboard,solves,notifications"


@pytest.fixture
def platform(tmp_path: Path, database_url: str) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path, database_url, "--workers", "2") as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        yield platform


class Heard(NamedTuple):
    """One event of a stream."""

    name: str
    data: Any


class Listener:
    """Somebody with a stream, who connects again with the id of what they heard last, as browsers do."""

    def __init__(self, platform: PlatformProcess, token: str) -> None:
        self._address = urlsplit(platform.base)
        self._headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        self._over = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.heard: list[Heard] = []
        self.port = 0
        self.last_id = ""
        self.connected = 0

    def __enter__(self) -> Self:
        self._thread.start()
        eventually(lambda: self.last_id, "a stream begins")
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _listen(self) -> None:
        while not self._over:
            connection = HTTPConnection(self._address.hostname or "", self._address.port, timeout=60)
            with suppress(OSError, ValueError):
                since = {"Last-Event-ID": self.last_id} if self.last_id else {}
                connection.request("GET", f"/events?channels={ALL}", headers={**self._headers, **since})
                self._socket = connection.sock
                self.port = connection.sock.getsockname()[1]
                answer = connection.getresponse()
                assert answer.status == 200
                self.connected += 1
                self._read(iter(answer.readline, b""))
            connection.close()

    def _read(self, lines: Iterator[bytes]) -> None:
        fields: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode().rstrip("\n").partition(":")
            if name:
                fields[name] = value
                continue
            if "event" in fields:
                self.heard.append(Heard(fields["event"], json.loads(fields["data"])))
            self.last_id = fields.get("id", self.last_id)
            fields = {}

    def told(self, name: str) -> list[Any]:
        """The data of the events called *name*."""
        return [one.data for one in list(self.heard) if one.name == name]

    @property
    def score(self) -> int:
        """The score of the first on the board as it was told."""
        for one in reversed(self.heard):
            if one.name == "scoreboard" or (one.name == "snapshot" and one.data["channel"] == "scoreboard"):
                return int(one.data["rows"][0]["score"]) if one.data["rows"] else 0
        return 0


def worker_of(port: int, among: Collection[int]) -> int:
    """Which of the processes *among* holds the connection that comes from *port*."""
    inodes = {
        fields[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[2].endswith(f":{port:04X}")
    }
    for pid in among:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if re.findall(r"socket:\[(\d+)\]", str(path.readlink())) in [[inode] for inode in inodes]:
                    return pid
    return 0


def test_what_one_worker_does_clients_of_the_other_hear_and_a_killed_one_loses_nothing(
    platform: PlatformProcess,
) -> None:
    token = set_up(platform)
    event = Event(platform, token)
    # What hidden administrators solve is on no board.
    own = event.ask("PATCH", "/api/v1/users/1", json={"hidden": False})
    assert own.status_code == 200
    held: dict[Listener, int] = {}
    with ExitStack() as stack:
        among = set(workers(platform).values())
        # Whoever accepts first has a connection; a player may have ten.
        while set(held.values()) != among:
            assert len(held) < 60
            someone = token if len(held) < 8 else _token_of_another(platform, event, len(held))
            listener = stack.enter_context(Listener(platform, someone))
            held[listener] = worker_of(listener.port, among)
        listeners = list(held)
        victim = held[listeners[-1]]
        for number in range(30):
            if number == 10:
                os.kill(victim, signal.SIGKILL)
            _go_on(event, number)
        for listener in listeners:
            eventually(lambda listener=listener: listener.score == 300, "the board at the end")  # type: ignore[misc]
            expected = [f"notice {number}" for number in range(30)]
            eventually(lambda told=listener.told: len(told("notification")) >= 30, "all notifications")  # type: ignore[misc]
            assert [one["title"] for one in listener.told("notification")] == expected
            eventually(lambda told=listener.told: len(told("solve")) >= 30, "all solves")  # type: ignore[misc]
            assert [one["challenge"]["name"] for one in listener.told("solve")] == [f"c{n}" for n in range(30)]
            assert listener.connected == (2 if held[listener] == victim else 1)


def _token_of_another(platform: PlatformProcess, event: Event, number: int) -> str:
    """An access token of a player who is made for it."""
    name = f"player{number}"
    made = {"name": name, "email": f"{name}@example.org", "password": "a long password", "verified": True}
    assert event.ask("POST", "/api/v1/users", json=made).status_code == 200
    person = Person(platform)
    person.submit("/login", name=name, password="a long password")
    return str(person.call("POST", "/tokens", {})["value"])


def _go_on(event: Event, number: int) -> None:
    """Solve a challenge and make a notification; whoever is asked may have been killed meanwhile, and keeps nothing."""
    for attempt in (event.solve, lambda n: _notify(event, n)):
        for _ in range(50):
            with suppress(Exception):
                attempt(number)
                break


def _notify(event: Event, number: int) -> None:
    answer = event.ask("POST", "/api/v1/notifications", json={"title": f"notice {number}"})
    assert answer.status_code == 200


def test_a_listener_who_does_not_read_costs_little_and_is_told_how_it_stands(tmp_path: Path) -> None:
    with PlatformProcess(tmp_path, None, "--roles", "web") as platform:
        token = set_up(platform)
        event = Event(platform, token)
        _notify_much(event, range(40))
        # What it costs without listeners.
        before = _memory(platform)
        _notify_much(event, range(40, 110))
        usual = _memory(platform) - before
        address = urlsplit(platform.base)
        asked = f"GET /events?channels=notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Token {token}\r\n"
        lazy = [socket.create_connection((address.hostname, address.port), timeout=30) for _ in range(9)]
        for one in lazy:
            one.sendall(f"{asked}Content-Type: application/json\r\n\r\n".encode())
        with Listener(platform, token) as other:
            before = _memory(platform)
            _notify_much(event, range(110, 180))
            eventually(lambda: "n179" in str(other.heard[-1].data), "who reads hears all")
            # What the nine have not read is 50 MB.
            grown = _memory(platform) - before
            assert grown < usual + 20_000, f"{grown} kB, without them {usual} kB"
        for one in lazy:
            got = b""
            ends = time.monotonic() + 30
            while b"event:snapshot" not in got and time.monotonic() < ends:
                got += one.recv(1 << 20)
            assert b"event:snapshot" in got
            one.close()


def _notify_much(event: Event, numbers: range) -> None:
    for number in numbers:
        answer = event.ask("POST", "/api/v1/notifications", json={"title": f"n{number}", "content": "x" * 40_000})
        assert answer.status_code == 200


def _memory(platform: PlatformProcess) -> int:
    status = Path(f"/proc/{platform.process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])
