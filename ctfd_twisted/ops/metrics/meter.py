"""Counts what happens in one process: answers, transactions, what is rebuilt, ticks, and how late the reactor is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ctfd_twisted.db.queue import Queue, Settle
from ctfd_twisted.errors import Busy, DomainError
from ctfd_twisted.http.routes import Route
from ctfd_twisted.ops.metrics.figures import (
    ANSWERS,
    DELAYS,
    TICKS,
    TRANSACTIONS,
    Family,
    Labels,
    Sample,
    Timings,
    counter,
    histogram,
)

#: So many hills have figures of their own; those beyond are one, so that nobody fills Prometheus by making hills.
HILLS: Final = 200
OTHERS: Final = "others"
#: Seconds between two looks at how late the reactor is.
LOOK: Final = 0.5


class _Answers:
    """The answers of one route."""

    __slots__ = ("route", "statuses", "timings")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.statuses: Counter[int] = Counter()
        self.timings = Timings(ANSWERS)


class _Transactions:
    """The transactions of one name."""

    __slots__ = ("outcomes", "timings", "waited")

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.timings = Timings(TRANSACTIONS)
        self.waited = 0.0


class Meter:
    """The counters of this process; all of it is called in the reactor's thread."""

    def __init__(self, seconds: Callable[[], float] = time.perf_counter) -> None:
        self._seconds = seconds
        # By the route's identity, for to compare routes takes longer than all the rest; the route is kept with it.
        self._answers: dict[int, _Answers] = {}
        self._transactions: dict[str, _Transactions] = {}
        self._names: dict[CodeType, str] = {}
        self._builds: Counter[tuple[str, str]] = Counter()
        self._ticks: Counter[tuple[str, str]] = Counter()
        self._lags: dict[str, Timings] = {}
        self.delays = Timings(DELAYS)

    def answered(self, route: Route, status: int, began: float) -> None:
        """Count an answer that was begun at *began*, as ``time.perf_counter`` has it."""
        answers = self._answers.get(id(route))
        if answers is None:
            answers = self._answers[id(route)] = _Answers(route)
        answers.statuses[status] += 1
        answers.timings.add(self._seconds() - began)

    def put(self, queue: Queue, fn: Callable[..., Any], work: Callable[[], Any], settle: Settle) -> Deferred[Any]:
        """Put the transaction *fn* into *queue*, and count how long it waited, how long it took, and how it ended."""
        asked = self._seconds()
        times: list[float] = []

        def timed() -> Any:
            times.append(self._seconds())
            try:
                return work()
            finally:
                times.append(self._seconds())

        def settled(succeeded: bool, value: Any) -> tuple[bool, Any]:  # noqa: FBT001 - the queue's callback
            outcome = settle(succeeded, value)
            if times:
                self.counted(fn, times[0] - asked, times[1] - times[0], outcome)
            else:
                self._of(fn).outcomes[_ended(*outcome)] += 1
            return outcome

        try:
            return queue.put(timed, settled)
        except Busy:
            self._of(fn).outcomes["busy"] += 1
            raise

    def counted(self, fn: Callable[..., Any], waited: float, took: float | None, outcome: tuple[bool, Any]) -> None:
        """Count one of those that the transaction *fn* was made for; it took None where it was refused at once."""
        figures = self._of(fn)
        figures.outcomes[_ended(*outcome)] += 1
        figures.waited += waited
        if took is not None:
            figures.timings.add(took)

    def built(self, build: Callable[..., Any], *, grown: bool = False) -> None:
        """Count that what *build* makes is made, or brought up to date."""
        self._builds[self._name(build), "grown" if grown else "built"] += 1

    def ticked(self, hill: int, outcome: str, late: float | None) -> None:
        """Count a tick that was recorded; *late* is by how many seconds, None where nobody was asked."""
        name = str(hill)
        lags = self._lags.get(name)
        if lags is None:
            name = name if len(self._lags) < HILLS else OTHERS
            lags = self._lags.setdefault(name, Timings(TICKS))
        self._ticks[name, outcome] += 1
        if late is not None:
            lags.add(max(0.0, late))

    def families(self) -> list[Family]:
        """All that was counted until now."""
        answers = [({"method": one.route.method, "route": one.route.path}, one) for one in self._answers.values()]
        named = [({"name": name}, one) for name, one in sorted(self._transactions.items())]
        return [
            counter(
                "ctfplatform_requests",
                "Answers by route and status; 499 is a client that hung up.",
                (
                    ({**labels, "status": str(status)}, count)
                    for labels, one in answers
                    for status, count in one.statuses.items()
                ),
            ),
            histogram(
                "ctfplatform_request_seconds",
                "From a request's whole arrival to its answer's first byte.",
                ((labels, one.timings) for labels, one in answers),
            ),
            counter(
                "ctfplatform_transactions",
                "Transactions by name and outcome: done, refused by a rule, busy, failed.",
                (
                    ({**labels, "outcome": outcome}, count)
                    for labels, one in named
                    for outcome, count in one.outcomes.items()
                ),
            ),
            histogram(
                "ctfplatform_transaction_seconds",
                "How long transactions were in a thread.",
                ((labels, one.timings) for labels, one in named),
            ),
            _waits(named),
            counter(
                "ctfplatform_snapshot_builds",
                "How often what is remembered was built, or grown by what is new.",
                (({"snapshot": name, "how": how}, count) for (name, how), count in sorted(self._builds.items())),
            ),
            counter(
                "ctfplatform_ticks",
                "Ticks that this process recorded, by hill and outcome.",
                (({"hill": hill, "outcome": outcome}, count) for (hill, outcome), count in self._ticks.items()),
            ),
            histogram(
                "ctfplatform_tick_lag_seconds",
                "From when a tick was due to its record, where the agent was asked.",
                (({"hill": hill}, lags) for hill, lags in self._lags.items()),
            ),
            histogram(
                "ctfplatform_reactor_delay_seconds",
                "By how much the reactor was late for a call that was due.",
                [({}, self.delays)],
            ),
        ]

    def _of(self, fn: Callable[..., Any]) -> _Transactions:
        name = self._name(fn)
        figures = self._transactions.get(name)
        if figures is None:
            figures = self._transactions[name] = _Transactions()
        return figures

    def _name(self, fn: Any) -> str:
        """A function's module and name; by its code, for bound methods and closures are new each time."""
        while isinstance(fn, partial):
            fn = fn.func
        code = getattr(fn, "__code__", None)
        if code is None:
            return _named(type(fn))
        name = self._names.get(code)
        if name is None:
            name = self._names[code] = _named(fn)
        return name


class Punctuality(Service):
    """Looks twice a second how late the reactor calls, which is how long others made it wait."""

    name = "punctuality"

    def __init__(self, clock: IReactorTime, delays: Timings) -> None:
        self._clock = clock
        self._delays = delays
        self._due = 0.0
        self._loop = LoopingCall(self._look)
        self._loop.clock = clock

    def startService(self) -> None:
        """Begin to look."""
        super().startService()
        self._due = self._clock.seconds() + LOOK
        self._loop.start(LOOK, now=False)

    def stopService(self) -> None:
        """Look no more."""
        super().stopService()
        if self._loop.running:
            self._loop.stop()

    def _look(self) -> None:
        now = self._clock.seconds()
        self._delays.add(max(0.0, now - self._due))
        # The loop's next call is at the next of its marks, however late this one came.
        self._due += LOOK * (max(0, (now - self._due) // LOOK) + 1)


def _waits(named: list[tuple[Labels, _Transactions]]) -> Family:
    samples = []
    for labels, one in named:
        samples.append(Sample("_count", labels, one.timings.count))
        samples.append(Sample("_sum", labels, one.waited))
    help_ = "How long transactions waited for a thread."
    return Family("ctfplatform_transaction_wait_seconds", "summary", help_, samples)


def _ended(succeeded: bool, value: Any) -> str:  # noqa: FBT001 - an outcome
    """How a transaction ended; *value* is a ``Failure`` where it did not succeed."""
    if succeeded:
        return "done"
    if value.check(Busy):
        return "busy"
    return "refused" if value.check(DomainError) else "failed"


def _named(fn: Any) -> str:
    module = str(fn.__module__).removeprefix("ctfd_twisted.")
    return f"{module}.{fn.__qualname__}".replace(".<locals>", "").replace("<lambda>", "made")
