"""Servers in processes of their own, and what they use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Engine, text

from ctfd_twisted.db.engine import Engines

_LISTENS = re.compile(rb"http://127\.0\.0\.1:(\d+)")
#: The word on a line of its own, or of the log; what a worker says of itself stands behind its name.
_READY = re.compile(rb"(?m)^(?:\S+ \[[^\]]*\] )?Ready$")


class Server:
    """A server process; its port is read from what it prints."""

    def __init__(
        self, command: Sequence[str], log: Path, wait: float = 60, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = log
        self._environment = {**os.environ, **(environment or {})}
        self._command = command
        self._wait = wait
        self.port = 0

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - ours
                self._command, stdout=log, stderr=subprocess.STDOUT, env=self._environment
            )
        deadline = time.monotonic() + self._wait
        while time.monotonic() < deadline and self._process.poll() is None:
            printed = self._log.read_bytes()
            if _READY.search(printed) and (found := _LISTENS.search(printed)):
                self.port = int(found[1])
                return self
            time.sleep(0.05)
        self._process.kill()
        sys.exit(f"{self._command[0]} did not start:\n{self._log.read_text()}")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def cpu_seconds(self) -> float:
        """What the process has used so far, user and system."""
        return cpu_seconds(self._process.pid)

    @property
    def memory_mb(self) -> float:
        """Resident memory in megabytes."""
        return self._megabytes("VmRSS")

    @property
    def peak_mb(self) -> float:
        """The most of it that the process has ever had."""
        return self._megabytes("VmHWM")

    def _megabytes(self, name: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0


def daemon(folder: Path, url: str, *options: str) -> list[str]:
    """The command that starts the platform on a port of its own."""
    twistd = [str(Path(sys.executable).with_name("twistd")), "--nodaemon", "--pidfile=", "ctfplatform"]
    return [*twistd, "--listen", "tcp:0:interface=127.0.0.1", "--data-dir", str(folder), "--database", url, *options]


def cpu_seconds(pid: int) -> float:
    """What the threads of one process have used so far that are still there, user and system, to the microsecond."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*")) * 1e-9


def beside(engines: Engines) -> Callable[[], float]:
    """A function that tells what the database's own processes on this machine have used so far, in CPU seconds.

    SQLite has none. Of PostgreSQL's those are counted that serve this database and have not ended since.
    """
    return partial(_backends, engines.write_engine) if engines.dialect == "postgresql" else float


def _backends(engine: Engine) -> float:
    with engine.connect() as conn:
        pids = conn.execute(text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")).scalars().all()
    return sum(cpu_seconds(pid) for pid in pids if Path(f"/proc/{pid}").exists())
