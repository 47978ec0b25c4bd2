"""The server while it is rushed: how long it is silent, and, where it is ours, what it uses."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Self

import msgspec

from bench.rush_line import Line
from bench.rush_shapes import Place
from bench.server import Server

#: Seconds between two looks.
EVERY = 0.02
#: Answered without a thread or a database, so that waiting for it is waiting for the reactor.
PULSE = "/readyz"


class Look(msgspec.Struct, frozen=True, array_like=True):
    """One look, by ``time.time()``: the seconds that the pulse took, and the server's CPU seconds and megabytes.

    *kept_waiting* are the seconds in which its reactor could have run, and the machine's processors were others'.
    """

    at: float
    pulse: float
    cpu: float
    memory_mb: float
    kept_waiting: float


class Watch:
    """Looks at a server in a thread, from ``with`` to its end; *server* is None where it is not ours."""

    def __init__(self, place: Place, server: Server | None) -> None:
        self._place = place
        self._server = server
        self._ends = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._look()), name="watch")
        self.looks: list[Look] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    async def _look(self) -> None:
        if self._place.tls:
            return  # readyz over TLS would need the certificate's name; the requests themselves tell enough
        line = Line(self._place.host, self._place.port, None)
        while not self._ends.is_set():
            began = time.perf_counter()
            try:
                await line.ask("GET", self._place.root + PULSE, (), b"")
            except (OSError, EOFError, ValueError):
                await asyncio.sleep(EVERY)
                continue
            pulse = time.perf_counter() - began
            self.looks.append(Look(time.time(), pulse, *self._used()))
            await asyncio.sleep(max(0, EVERY - pulse))
        line.close()

    def _used(self) -> tuple[float, float, float]:
        server = self._server
        if server is None:
            return 0.0, 0.0, 0.0
        waited = int(Path(f"/proc/{server.pid}/task/{server.pid}/schedstat").read_text().split()[1])
        return server.cpu_seconds, server.memory_mb, waited / 1e9
