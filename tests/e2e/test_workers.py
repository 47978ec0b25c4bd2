"""Several processes that share the listening sockets: ended, reloaded and killed under load."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from organiser import set_up
from running import Crowd, PlatformProcess, eventually

ATTEMPT = "/api/v1/challenges/attempt"
FLAGS = 60


def workers(platform: PlatformProcess, kind: str = "web") -> dict[str, int]:
    """The names and process ids of the workers that run now, as the system knows them."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().decode().split("\0")
            parent = int(re.findall(r"PPid:\s*(\d+)", path.with_name("status").read_text())[0])
        except (OSError, IndexError):
            continue
        if parent == platform.process.pid and "ctfd_twisted.ops.workers.process" in arguments:
            found[arguments[arguments.index("ctfd_twisted.ops.workers.process") + 1]] = int(path.parent.name)
    return {name: number for name, number in found.items() if name.startswith(kind)}


@pytest.fixture
def platform(tmp_path: Path, database_url: str) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path, database_url, "--workers", "2") as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        yield platform


class Event:
    """A competition with many challenges and one player; requests go over fresh connections, to whoever accepts."""

    def __init__(self, platform: PlatformProcess, admin: str) -> None:
        self.base = platform.base
        self._headers = {"Authorization": f"Token {admin}"}
        self.challenges = []
        for number in range(FLAGS):
            body = {"name": f"c{number}", "category": "c", "value": 10, "type": "standard", "state": "visible"}
            challenge = self.ask("POST", "/api/v1/challenges", json=body).json()["data"]["id"]
            flag = {"challenge_id": challenge, "type": "static", "content": f"flag{{{number}}}"}
            self.ask("POST", "/api/v1/flags", json=flag)
            self.challenges.append(challenge)

    def ask(self, method: str, path: str, **options: object) -> requests.Response:
        """One request over a connection of its own."""
        headers = {**self._headers, "Content-Type": "application/json"}
        return requests.request(method, self.base + path, headers=headers, timeout=30, **options)  # type: ignore[arg-type]

    def solve(self, number: int) -> str:
        """The outcome of a right answer."""
        body = {"challenge_id": self.challenges[number], "submission": f"flag{{{number}}}"}
        status: str = self.ask("POST", ATTEMPT, json=body).json()["data"]["status"]
        return status

    def solved(self) -> int:
        """How many challenges are known to be solved."""
        return sum(one["solved_by_me"] for one in self.ask("GET", "/api/v1/challenges").json()["data"])


@pytest.fixture
def event(platform: PlatformProcess) -> Event:
    return Event(platform, set_up(platform))


class Load(Crowd):
    """Readers that ask as fast as they can until they are told to stop; what went wrong is kept."""

    def __init__(self, event: Event) -> None:
        self._event = event
        super().__init__(*[self._read] * 4)
        self.faults: list[str] = []
        self.answers = 0

    def _read(self) -> None:
        while not self._over.is_set():
            try:
                reply = self._event.ask("GET", "/api/v1/challenges")
            except requests.RequestException as error:
                self.faults.append(repr(error))
                continue
            self.answers += 1
            if reply.status_code != 200:
                self.faults.append(f"{reply.status_code}: {reply.text[:200]}")


def test_a_reload_refuses_nobody(platform: PlatformProcess, event: Event) -> None:
    before = workers(platform)
    assert len(before) == 2
    with Load(event) as load:
        os.kill(platform.process.pid, signal.SIGHUP)
        eventually(lambda: set(workers(platform)).isdisjoint(before) and len(workers(platform)) == 2, "new workers")
        seen = load.answers
        eventually(lambda: load.answers > seen + 20, "the new workers answer")
    assert load.faults == []
    assert len(workers(platform, "services")) == 1


def test_what_a_killed_worker_has_answered_is_kept(platform: PlatformProcess, event: Event) -> None:
    """Answers that were accepted are there, the other worker goes on, and the killed one is started again."""
    accepted = []
    victim = next(iter(workers(platform).values()))
    for number in range(FLAGS):
        if number == FLAGS // 3:
            os.kill(victim, signal.SIGKILL)
        try:
            if event.solve(number) == "correct":
                accepted.append(number)
        except requests.ConnectionError:
            pass  # it was on the worker that died
    assert len(accepted) >= FLAGS - 1
    assert event.solved() >= len(accepted)
    eventually(lambda: len(workers(platform)) == 2 and victim not in workers(platform).values(), "started again")
    platform.wait_for(r"has ended by itself, and is started again")


def test_what_one_worker_accepts_the_other_shows(event: Event) -> None:
    """Whoever answers, nobody sees a state from before a commit: fresh connections go to either."""
    for number in range(20):
        assert event.solve(number) == "correct"
        eventually(lambda number=number: event.solved() == number + 1, "both show it", deadline=2)  # type: ignore[misc]


def test_all_end_together(platform: PlatformProcess) -> None:
    everybody = [*workers(platform).values(), *workers(platform, "services").values()]
    assert len(everybody) == 3
    assert platform.stop() in {0, -signal.SIGTERM}
    assert not [number for number in everybody if Path(f"/proc/{number}").exists()]


def test_workers_do_not_outlive_who_started_them(platform: PlatformProcess) -> None:
    everybody = [*workers(platform).values(), *workers(platform, "services").values()]
    platform.kill()
    eventually(lambda: not [one for one in everybody if Path(f"/proc/{one}").exists()], "the workers end as well")


def test_a_database_that_can_not_be_used_ends_the_start(tmp_path: Path) -> None:
    path = tmp_path / "no.sqlite"
    path.write_text("this is no database, though it is long enough to look at" * 20)
    platform = PlatformProcess(tmp_path, f"sqlite:///{path}", "--workers", "2")
    with pytest.raises(AssertionError, match="can't be"):
        platform.start()
    assert platform.process.wait(30) == 1
    assert "Traceback" not in platform.printed


def test_a_unix_socket_keeps_its_permissions_and_its_file(tmp_path: Path) -> None:
    """Who may use it was chosen by them, and workers that end leave it where it is."""
    path = tmp_path / "http.sock"
    with PlatformProcess(tmp_path, None, "--workers", "2", "--listen", f"unix:{path}:mode=660") as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        before = workers(platform)
        assert path.stat().st_mode & 0o777 == 0o660
        os.kill(platform.process.pid, signal.SIGHUP)
        eventually(lambda: set(workers(platform)).isdisjoint(before) and len(workers(platform)) == 2, "new workers")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.fspath(path))
            client.sendall(b"GET /healthcheck HTTP/1.0\r\nHost: x\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.0 200 ")
        assert path.stat().st_mode & 0o777 == 0o660
        platform.stop()
        assert not path.exists()


def test_a_signal_to_the_whole_group_reloads_and_ends_no_worker(platform: PlatformProcess) -> None:
    before = workers(platform)
    for number in before.values():
        os.kill(number, signal.SIGHUP)
    os.kill(platform.process.pid, signal.SIGHUP)
    eventually(lambda: set(workers(platform)).isdisjoint(before) and len(workers(platform)) == 2, "new workers")
    assert "has ended by itself" not in platform.printed


def test_a_worker_waits_for_room_in_its_log(platform: PlatformProcess) -> None:
    """What does not wait loses lines when they come faster than they are read."""
    for number in workers(platform).values():
        (flags,) = re.findall(r"flags:\s*(\d+)", Path(f"/proc/{number}/fdinfo/1").read_text())
        assert not int(flags, 8) & os.O_NONBLOCK


def test_a_wrong_configuration_changes_nothing(tmp_path: Path) -> None:
    toml = tmp_path / "ctf.toml"
    toml.write_text("workers = 2\n")
    with PlatformProcess(tmp_path, None, "--config", str(toml)) as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        before = workers(platform)
        toml.write_text("workers = 'many'\n")
        os.kill(platform.process.pid, signal.SIGHUP)
        platform.wait_for(r"SIGHUP: the configuration is wrong")
        assert workers(platform) == before
        toml.write_text("workers = 3\n")
        os.kill(platform.process.pid, signal.SIGHUP)
        eventually(lambda: len(workers(platform)) == 3 and set(workers(platform)).isdisjoint(before), "three workers")
