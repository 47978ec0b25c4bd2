"""Real agents: `kothagent` and `twistd` as child processes on port 0."""

import json
import os
import select
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage, HTTPSConnection
from itertools import dropwhile, islice
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

SCRIPTS = Path(sys.executable).parent
KOTHAGENT = [str(SCRIPTS / "kothagent")]
TWISTD = [str(SCRIPTS / "twistd"), "--nodaemon", "--pidfile=", "kothagent"]
DEADLINE = 15.0  # seconds; a test that waits longer has failed


@dataclass
class Reply:
    status: int
    headers: HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Asking:
    """A request that has been sent, whose answer has not been waited for."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def reply(self) -> Reply:
        try:
            response = self._connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            self.hang_up()

    def hang_up(self) -> None:
        self._connection.close()


class Agent:
    """One running agent, known by what it printed."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.errors = folder / "stderr"
        self._connections: list[HTTPConnection] = []
        # An endpoint that is listened on by twistd is announced when twistd has begun its log, on standard output too.
        lines = dropwhile(lambda line: not line.startswith("Listening on "), iter(process.stdout.readline, ""))
        self.lines = [line.rstrip("\n") for line in islice(lines, 2)]
        assert len(self.lines) == 2, self.errors.read_text()
        host, _, port = self.lines[0].removeprefix("Listening on ").rpartition(":")
        self.host, self.port = host.strip("[]"), int(port) if port.isdigit() else 0

    def send(self, path: str, method: str = "GET", tls: ssl.SSLContext | None = None, **headers: str) -> Asking:
        connection = (
            HTTPConnection(self.host, self.port, timeout=DEADLINE)
            if tls is None
            else HTTPSConnection(self.host, self.port, timeout=DEADLINE, context=tls)
        )
        self._connections.append(connection)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return Asking(connection)

    def ask(self, path: str, method: str = "GET", tls: ssl.SSLContext | None = None, **headers: str) -> Reply:
        return self.send(path, method, tls, **headers).reply()

    def stop(self) -> int:
        """End it as systemd would; its exit status."""
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def forget(self) -> None:
        """Leave nothing open."""
        for connection in self._connections:
            connection.close()
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


Start = Callable[..., Agent]
Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """``start("-option", …, command=…, environment=…)``: an agent in tmp_path, listening on 127.0.0.1."""
    running: list[Agent] = []

    def begin(*options: str, command: list[str] = KOTHAGENT, environment: dict[str, str] | None = None) -> Agent:
        where = [] if {"-listen", "-host"} & set(options) else ["-host", "127.0.0.1"]
        with (tmp_path / "stderr").open("w") as errors:
            process = subprocess.Popen(
                [*command, "-port", "0", *where, *options],
                cwd=tmp_path,
                env={**os.environ, **(environment or {})},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        watchdog = Timer(DEADLINE, process.kill)  # readline() has no deadline of its own
        watchdog.start()
        try:
            agent = Agent(process, tmp_path)
        finally:
            watchdog.cancel()
        running.append(agent)
        return agent

    yield begin
    for agent in running:
        agent.forget()


class Pipe:
    """A FIFO through which a command says something to the test."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def line(self) -> str:
        """The next line; the command writes it at once."""
        assert select.select([self._descriptor], [], [], DEADLINE)[0], "the command said nothing"
        return os.read(self._descriptor, 1000).decode().strip()

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    fifo = Pipe(tmp_path / "said")
    yield fifo
    fifo.close()


class Watched:
    """A process that should end."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def ends(self) -> bool:
        ended = bool(select.select([self._descriptor], [], [], DEADLINE)[0])
        os.close(self._descriptor)
        return ended


@pytest.fixture
def watch() -> Callable[[int], Watched]:
    return Watched


def run_to_its_end(*words: str | Path, folder: Path, environment: dict[str, str] | None = None) -> Ended:
    """A program that ends by itself, run in *folder*; a name is looked for beside Python."""
    program = str(SCRIPTS / words[0])
    return subprocess.run(
        [program, *map(str, words[1:])],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=4 * DEADLINE,
        check=False,
    )


@pytest.fixture(scope="session")
def run() -> Run:
    return run_to_its_end


@pytest.fixture
def refusal(tmp_path: Path) -> Callable[..., str]:
    """``refusal("-option", …)``: the one line on standard error that a start in tmp_path ends with."""

    def start_in_vain(*options: str, command: list[str] = KOTHAGENT) -> str:
        ended = run_to_its_end(*command, *options, folder=tmp_path)
        assert ended.returncode == 1, (ended.stdout, ended.stderr)
        assert "Listening" not in ended.stdout
        (line,) = ended.stderr.splitlines()
        return line

    return start_in_vain


@pytest.fixture(params=[KOTHAGENT, TWISTD], ids=["kothagent", "twistd"])
def command(request: pytest.FixtureRequest) -> list[str]:
    """Both ways to run an agent in the foreground."""
    chosen: list[str] = request.param
    return chosen
