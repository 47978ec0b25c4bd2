"""Claims about what is counted of answers, transactions, ticks and the reactor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, text
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ctfd_twisted.db.database import WAITING, Database
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.db.queue import start_inline
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.db.together import ALONE, Alone
from ctfd_twisted.errors import Busy, NotFound
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Route
from ctfd_twisted.ops.metrics.figures import DELAYS, Timings
from ctfd_twisted.ops.metrics.meter import HILLS, Meter, Punctuality


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def meter(clock: Clock) -> Meter:
    return Meter(clock.seconds)


def value(meter: Meter, sample: str, /, **labels: str) -> float:
    """The sample of that name and those labels; 0 where there is none."""
    return sum(
        one.value
        for family in meter.families()
        for one in family.samples
        if family.name + one.suffix == sample and labels.items() <= one.labels.items()
    )


def test_answers_are_counted_by_route_and_status(meter: Meter, clock: Clock) -> None:
    route = Route("GET", "/api/v1/challenges/<int:id>", (ANYONE,), "get")
    for status in (200, 200, 404):
        began = clock.seconds()
        clock.advance(0.2)
        meter.answered(route, status, began)
    here = {"method": "GET", "route": "/api/v1/challenges/<int:id>"}
    assert value(meter, "ctfplatform_requests_total", **here, status="200") == 2
    assert value(meter, "ctfplatform_requests_total", **here, status="404") == 1
    assert value(meter, "ctfplatform_request_seconds_count", **here) == 3
    assert value(meter, "ctfplatform_request_seconds_bucket", **here, le="0.1") == 0
    assert value(meter, "ctfplatform_request_seconds_bucket", **here, le="0.25") == 3


def write(conn: Connection) -> None:
    touch(conn, "config")


def refuse(_: Connection) -> None:
    raise NotFound


def break_down(_: Connection) -> None:
    raise ZeroDivisionError


class Threads:
    """One thread, which works when it is told to."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], Any], Callable[[bool, Any], None]]] = []

    def start(self, work: Callable[[], Any], done: Callable[[bool, Any], None]) -> None:
        self._waiting.append((work, done))

    def work(self) -> None:
        work, done = self._waiting.pop(0)
        start_inline(work, done)


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def db(meter: Meter, threads: Threads, clock: Clock) -> Iterator[Database]:
    db = Database(open_engines("sqlite://"), Bus(), write=threads.start, read=threads.start, seconds=clock.seconds)
    db.meter = meter
    yield db
    db.close()


def names(fn: Callable[..., object]) -> str:
    return f"{fn.__module__}.{fn.__qualname__}"


def test_transactions_are_counted_by_name_and_outcome(meter: Meter, db: Database, threads: Threads) -> None:
    for fn in (write, refuse, break_down, write):
        db.run(fn).addErrback(lambda _: None)
        threads.work()
    outcomes = {
        (one.labels["name"], one.labels["outcome"]): one.value
        for family in meter.families()
        if family.name == "ctfplatform_transactions"
        for one in family.samples
    }
    assert outcomes == {(names(write), "done"): 2, (names(refuse), "refused"): 1, (names(break_down), "failed"): 1}


def test_time_in_the_queue_and_in_the_thread_are_told_apart(
    meter: Meter, db: Database, threads: Threads, clock: Clock
) -> None:
    def slow(_: Connection) -> None:
        clock.advance(2)

    db.run(slow)
    clock.advance(3)
    threads.work()
    assert value(meter, "ctfplatform_transaction_wait_seconds_sum") == 3
    assert value(meter, "ctfplatform_transaction_seconds_sum") == 2


def test_what_waited_for_too_long_was_busy_and_took_no_time(
    meter: Meter, db: Database, threads: Threads, clock: Clock
) -> None:
    errors: list[Any] = []
    db.read(refuse).addErrback(errors.append)
    clock.advance(11)
    threads.work()
    assert errors[0].check(Busy)
    assert value(meter, "ctfplatform_transactions_total", outcome="busy") == 1
    assert value(meter, "ctfplatform_transaction_seconds_count") == 0


def many(conn: Connection, asked: Sequence[str], *, alone: bool) -> list[str | Exception | Alone]:
    del conn
    return [one if alone or one != "alone" else ALONE for one in asked]


def test_those_who_share_a_transaction_are_counted_each(meter: Meter, db: Database, threads: Threads) -> None:
    put = db.together(many)
    for name in ("a", "b", "alone"):
        put(name)
    threads.work()
    threads.work()
    assert value(meter, "ctfplatform_transactions_total", outcome="done") == 3
    assert value(meter, "ctfplatform_transaction_seconds_count") == 3


def test_those_who_would_share_one_and_are_sent_away_were_busy_and_took_no_time(
    meter: Meter, db: Database, threads: Threads, clock: Clock
) -> None:
    put = db.together(many)
    late = [put("a") for _ in range(WAITING)]
    with pytest.raises(Busy):
        put("a")
    clock.advance(11)
    threads.work()
    assert {one.addErrback(lambda failure: failure.type).result for one in late} == {Busy}
    assert value(meter, "ctfplatform_transactions_total", outcome="busy") == WAITING + 1
    assert value(meter, "ctfplatform_transaction_seconds_count") == 0


def test_what_services_do_is_counted_with_the_rest(meter: Meter, db: Database, threads: Threads) -> None:
    db.aside().run(write)
    threads.work()
    assert value(meter, "ctfplatform_transactions_total", name=names(write), outcome="done") == 1


def one(conn: Connection) -> int:
    return int(conn.execute(text("SELECT 1")).scalar_one())


def test_each_building_of_a_snapshot_is_counted(meter: Meter, db: Database, threads: Threads) -> None:
    snapshot = Snapshot(db, db.bus, one, {"config"})
    for _ in range(2):
        snapshot.get()
        threads.work()
        snapshot.get()
        db.bus.publish({"config"})
    assert value(meter, "ctfplatform_snapshot_builds_total", snapshot=names(one), how="built") == 2


def test_ticks_are_counted_by_hill_and_outcome(meter: Meter) -> None:
    meter.ticked(3, "held", 0.5)
    meter.ticked(3, "held", -0.1)
    meter.ticked(3, "missed", None)
    assert value(meter, "ctfplatform_ticks_total", hill="3", outcome="held") == 2
    assert value(meter, "ctfplatform_ticks_total", hill="3", outcome="missed") == 1
    assert value(meter, "ctfplatform_tick_lag_seconds_count", hill="3") == 2
    assert value(meter, "ctfplatform_tick_lag_seconds_sum", hill="3") == 0.5


def test_hills_without_end_have_figures_with_an_end(meter: Meter) -> None:
    for hill in range(2 * HILLS):
        meter.ticked(hill, "held", 0.1)
    hills = {one.labels["hill"] for family in meter.families() for one in family.samples if "hill" in one.labels}
    assert len(hills) == HILLS + 1
    assert value(meter, "ctfplatform_ticks_total", hill="others") == HILLS


def test_a_late_reactor_is_told_once(clock: Clock) -> None:
    delays = Timings(DELAYS)
    service = Punctuality(clock, delays)
    service.startService()
    clock.pump([0.5, 0.5])
    assert (delays.count, delays.total) == (2, 0)
    clock.advance(1.7)
    assert delays.count == 3
    assert delays.total == pytest.approx(1.2)
    clock.pump([0.3, 0.5])
    assert delays.count == 5
    assert delays.total == pytest.approx(1.2)
    service.stopService()
    assert not clock.getDelayedCalls()


def test_a_cancelled_wait_is_no_outcome(meter: Meter, db: Database, threads: Threads) -> None:
    waiting: Deferred[None] = db.run(write)
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    threads.work()
    assert value(meter, "ctfplatform_transactions_total") == 0
