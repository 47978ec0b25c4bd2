"""``python -m bench hooks``: webhooks to ten endpoints, at the pace of right answers, and a backlog of them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import msgspec
from sqlalchemy import func, select

from bench.event import Event, Size, analyze, flag_of, play
from bench.goals import Goal, faults
from bench.load import request
from bench.receiver import ALL, COUNT, SECRET, Came
from bench.server import Server, daemon
from bench.steady import Order, Sent, Steady
from bench.watch import Meter
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.testing.webhooks import an_endpoint
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.events import EXAMPLES, SolveCreated
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.tables import deliveries, events

ENDPOINTS: Final = 10
#: Right answers a second, and seconds of them: alone, and while everything is told to the endpoints.
PACE, ALONE, TOLD = 20, 6, 20
#: Events that are owed at once.
BACKLOG: Final = 500
#: Deliveries per CPU second of server and database, and seconds to the first attempt for 99 of 100.
PER_CPU_SECOND, SOON = 500, 2
#: Enough solves that none is the first of its challenge: an event for each answer.
_SIZE: Final = Size(challenges=40, solves=4000, wrong=0)
#: Seconds in which everything is delivered, at the latest.
_PATIENCE: Final = 120


class Cost(msgspec.Struct, frozen=True):
    """So many deliveries within a time, by the CPU seconds of server and database together, and of the server alone."""

    deliveries: int
    seconds: float
    cpu: float
    server: float

    @property
    def per_cpu_second(self) -> float:
        """Deliveries per CPU second."""
        return self.deliveries / self.cpu


def delays(created: Mapping[str, float], came: Came) -> list[float]:
    """Seconds from each event of *created*, by the ids of its deliveries, to the first time that it came; sorted."""
    first: dict[str, float] = {}
    for delivery, at in zip(came.ids, came.at, strict=True):
        first.setdefault(delivery, at)
    return sorted(first[one] - begin for one, begin in created.items() if one in first)


def measure(folder: Path, database: str | None) -> list[Goal]:
    """Measure and print."""
    url = database or f"sqlite:///{folder}/hooks.sqlite"
    engines = open_engines(url)
    migrate(engines.write_engine)
    event = play(engines.write_engine, _SIZE)
    with engines.write_engine.begin() as conn:
        secret = read_shared_secret(conn, datetime.now(UTC)).secret
    with ExitStack() as stack:
        stack.callback(engines.close)
        command = [sys.executable, "-m", "bench.receiver"]
        receiver = stack.enter_context(Server(command, folder / "receiver.log", environment={SECRET: secret}))
        platform = stack.enter_context(Server(daemon(folder, url), folder / "platform.log"))
        return _Hooks(event, engines, platform, receiver).measure()


class _Hooks:
    """A platform, and who is told of what happens there."""

    def __init__(self, event: Event, engines: Engines, platform: Server, receiver: Server) -> None:
        self._event = event
        self._engines = engines
        self._platform = platform
        self._receiver = f"http://127.0.0.1:{receiver.port}"
        self._meter = Meter(platform.pid, engines)
        self._answered = 0
        self._wrong: list[bytes] = []

    def measure(self) -> list[Goal]:
        print(f"{self._engines.dialect}, {ENDPOINTS} endpoints, {PACE} right answers a second", flush=True)
        self._answer(2)
        _, *each = self._answer(ALONE)
        with self._engines.write_engine.begin() as conn:
            for number in range(ENDPOINTS):
                an_endpoint(conn, url=f"{self._receiver}/{number}")
        self._answer(2)
        analyze(self._engines.write_engine)
        answers, *cost = self._answer(TOLD)
        cpu, server = ((every - alone) * answers for every, alone in zip(cost, each, strict=True))
        steady = Cost(answers * ENDPOINTS, TOLD, cpu, server)
        self._print("at this pace", steady)
        print(f"{'':<16}the answers themselves took {each[0] * 1000:.2f} ms each, which is taken off")
        waits = delays(self._created(), self._came())
        p50, p99 = (waits[int(len(waits) * share)] for share in (0.5, 0.99))
        print(f"{'':<16}from the event to its coming: p50 {_ms(p50)}, p99 {_ms(p99)}, max {_ms(waits[-1])}", flush=True)
        analyze(self._engines.write_engine)
        backlog = self._owe()
        self._print("a backlog", backlog)
        came = self._came()
        owed = self._owed()
        print(f"{'':<16}{came.verified} signatures were verified; {len(came.ids) - len(set(came.ids))} came twice")
        return [
            Goal("webhooks at a steady pace, per CPU second", PER_CPU_SECOND, steady.per_cpu_second, at_least=True),
            Goal("webhooks of a backlog, per CPU second", PER_CPU_SECOND, backlog.per_cpu_second, at_least=True),
            Goal("webhooks: from the event to its coming, p99", SOON, p99, "s"),
            faults("webhooks that did not come", owed - len(set(came.ids))),
            faults("webhooks with a wrong signature", came.forged),
            faults("webhooks: unexpected answers", len(self._wrong)),
        ]

    def _answer(self, seconds: int) -> tuple[int, float, float]:
        """Let right answers come for so long; how many, and for each the CPU seconds of all and of the server alone."""
        pairs = self._event.unsolved[self._answered : self._answered + PACE * seconds]
        self._answered += len(pairs)
        order = Order(self._platform.port, [self._right(*pair) for pair in pairs], b'"status":"correct"', PACE)
        self._meter.find()
        self._meter.settle()
        before, alone = self._meter.used, self._platform.cpu_seconds
        with Steady(order) as steady:
            time.sleep(seconds)
            sent = steady.result()
        self._settle()
        self._note(sent)
        used, alone = self._meter.used - before, self._platform.cpu_seconds - alone
        return len(sent.at), used / len(sent.at), alone / len(sent.at)

    def _right(self, user: int, challenge: int) -> bytes:
        body = json.dumps({"challenge_id": challenge, "submission": flag_of(challenge)}).encode()
        headers = (("Authorization", f"Token {self._event.tokens[user]}"), ("Content-Type", "application/json"))
        return request("POST", "/api/v1/challenges/attempt", headers, body)

    def _note(self, sent: Sent) -> None:
        self._wrong += sent.wrong
        for text in sent.wrong:
            print(f"    unexpected: {text!r}")

    def _owe(self) -> Cost:
        """Owe a backlog, written by another program, and wait until it has come."""
        (example,) = (one for one in EXAMPLES if type(one) is SolveCreated)
        already = self._count()
        before, alone, began = self._meter.used, self._platform.cpu_seconds, time.perf_counter()
        with self._engines.write_engine.begin() as conn:
            store.emit(conn, datetime.now(UTC), *[example] * BACKLOG)
        self._settle()
        seconds = time.perf_counter() - began
        used, alone = self._meter.used - before, self._platform.cpu_seconds - alone
        return Cost(self._count() - already, seconds, used, alone)

    def _settle(self) -> None:
        """Wait until everything that is owed has come and been recorded."""
        ends, owed = time.monotonic() + _PATIENCE, self._owed()
        while self._count() < owed:
            if time.monotonic() > ends:
                raise SystemExit(f"of {owed} deliveries {self._count()} have come within {_PATIENCE} s")
            time.sleep(0.1)
        self._meter.settle()
        self._meter.find()

    def _owed(self) -> int:
        with self._engines.reader() as conn:
            return conn.execute(select(func.count()).select_from(deliveries)).scalar_one()

    def _created(self) -> dict[str, float]:
        """When each delivery's event happened: its transaction had begun by then, its commit came a little later."""
        wanted = select(deliveries.c.id, events.c.created).join(events, events.c.seq == deliveries.c.seq)
        with self._engines.reader() as conn:
            return {row.id: row.created.timestamp() for row in conn.execute(wanted)}

    def _count(self) -> int:
        return int(_read(self._receiver + COUNT.decode()))

    def _came(self) -> Came:
        return msgspec.json.decode(_read(self._receiver + ALL.decode()), type=Came)

    def _print(self, how: str, cost: Cost) -> None:
        print(
            f"{how:<16}{cost.deliveries} deliveries in {cost.seconds:.1f} s, {cost.cpu:.2f} CPU s"
            f" (the server {cost.server:.2f}): {cost.per_cpu_second:.0f} per CPU second",
            flush=True,
        )


def _read(url: str) -> bytes:
    with urlopen(url, timeout=20) as answer:  # noqa: S310 - our own
        told: bytes = answer.read()
    return told


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
