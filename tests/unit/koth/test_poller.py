"""The poller over a Clock: when hills are asked, what is recorded, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update
from twisted.internet.defer import fail
from twisted.internet.task import Clock, deferLater

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_secret, write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.db.tables import leases
from ctfd_twisted.errors import Busy
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.keys import MOMENTS
from ctfd_twisted.koth.office import Office
from ctfd_twisted.koth.plans import ask_reset
from ctfd_twisted.koth.poller import RENEWAL, TTL, HillPoller
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.recording import Moment, record_unasked
from ctfd_twisted.koth.schedule import Schedule
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.store import forget_ticks, write_settings
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_user
from ctfd_twisted.testing.fake_agent import FakeAgent, FakeAgents
from ctfd_twisted.testing.hills import a_hill, hill_settings
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.signatures import signature

START = datetime(2026, 3, 14, 12, tzinfo=UTC)


class Node:
    """One polling node."""

    def __init__(self, place: Place, name: str) -> None:
        # Each node has its own client, but they share the agents.
        self.office = Office(place.clock, place.db, HillClient(place.clock, place.reach), holder=name)
        self.poller = HillPoller(self.office)

    def start(self) -> Node:
        self.poller.startService()
        return self

    def stop(self) -> None:
        result_of(self.poller.stopService())

    def die(self) -> None:
        """Do nothing any more, as after kill -9: no stop, no release."""
        self.poller._unsubscribe()
        self.poller._loop.stop()
        self.poller._step_down()


class Place:
    """A database in memory, a clock, the agent ``hill``, and nodes that poll."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(START.timestamp())
        self.db = Database(open_engines("sqlite://"), Bus(), write=start_inline, read=start_inline)
        metadata.create_all(self.db.engines.write_engine)
        self.agent = FakeAgent("ada")
        self.reach = FakeAgents(hill=self.agent)
        self.run(write_config, {"setup": True})
        self.ada = self.run(a_user)

    def run(self, fn: Any, *args: Any, **facts: Any) -> Any:
        return result_of(self.db.run(fn, *args, **facts))

    def hill(self, **changes: Any) -> int:
        def make(conn: Connection) -> int:
            touch(conn, "challenges")
            return a_hill(conn, **{"url": "http://hill/status", **changes})

        return int(self.run(make))

    def change(self, hill: int, **columns: Any) -> None:
        def make(conn: Connection) -> None:
            conn.execute(update(challenges).where(challenges.c.id == hill).values(**columns))
            touch(conn, "challenges")

        self.run(make)

    def node(self, name: str = "one") -> Node:
        return Node(self, name)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    def advance(self, seconds: float, step: float = 0.5) -> None:
        for _ in range(round(seconds / step)):
            self.clock.advance(step)

    def outcomes(self, hill: int) -> list[tuple[int, str]]:
        def read(conn: Connection) -> list[tuple[int, str]]:
            found = conn.execute(select(ticks).where(ticks.c.challenge_id == hill).order_by(ticks.c.tick))
            return [(row.tick, row.outcome) for row in found]

        return list(result_of(self.db.read(read)))

    def numbers(self, hill: int) -> list[int]:
        return [number for number, _ in self.outcomes(hill)]

    def row(self, hill: int) -> Any:
        return result_of(
            self.db.read(lambda conn: conn.execute(select(hills).where(hills.c.challenge_id == hill)).one())
        )

    def awards(self) -> list[datetime]:
        return list(result_of(self.db.read(lambda conn: conn.execute(select(awards.c.date)).scalars().all())))


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    made.run(lambda conn: conn.execute(update(metadata.tables["users"]).values(name="ada")))
    yield made
    made.db.close()


def test_a_hill_is_asked_at_its_interval_from_the_moment_it_is_open(place: Place) -> None:
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(35)
    assert place.outcomes(hill) == [(0, "held"), (1, "held"), (2, "held"), (3, "held")]
    assert sorted(place.awards()) == [START + timedelta(seconds=10 * tick) for tick in range(4)]


def test_a_hill_that_is_made_later_is_polled_soon_and_a_deleted_one_no_more(place: Place) -> None:
    place.node().start()
    place.advance(5)
    hill = place.hill(interval=10)
    place.advance(12)
    assert place.numbers(hill) == [0, 1]

    def remove(conn: Connection) -> None:
        conn.execute(delete(challenges).where(challenges.c.id == hill))
        touch(conn, "challenges")

    place.run(remove)
    asked = len(place.agent.asked)
    place.advance(60)
    assert len(place.agent.asked) == asked


@pytest.mark.parametrize("closed", [{"state": "hidden"}, {"state": "locked"}])
def test_a_hill_that_is_not_visible_has_no_ticks_and_none_are_made_up(place: Place, closed: dict[str, str]) -> None:
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(15)
    place.change(hill, **closed)
    place.advance(40)
    assert place.numbers(hill) == [0, 1]
    assert not place.row(hill).running
    place.change(hill, state="visible")
    place.advance(10)
    assert place.outcomes(hill) == [(0, "held"), (1, "held"), (6, "held")], "the same grid, without what was not due"


def test_a_pause_stops_all_ticks(place: Place) -> None:
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(5)
    place.run(write_config, {"paused": True})
    place.advance(60)
    place.run(write_config, {"paused": False})
    place.advance(10)
    assert place.numbers(hill) == [0, 7]


def test_ticks_are_due_strictly_between_start_and_end(place: Place) -> None:
    begin, end = int(START.timestamp()) + 20, int(START.timestamp()) + 51
    place.run(write_config, {"start": begin, "end": end})
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(19)
    assert place.numbers(hill) == []
    place.advance(120)
    first = place.row(hill).first_tick
    assert begin < first.timestamp() <= begin + 1
    assert place.numbers(hill) == [0, 1, 2]
    assert all(begin < date.timestamp() < end for date in place.awards())


def test_an_end_that_is_moved_lets_the_ticks_go_on(place: Place) -> None:
    hill = place.hill(interval=10)
    place.run(write_config, {"end": int(START.timestamp()) + 15})
    place.node().start()
    place.advance(5)
    place.run(write_config, {"end": int(START.timestamp()) + 25})
    place.advance(100)
    assert place.numbers(hill) == [0, 1, 2]


def test_a_release_is_waited_for(place: Place) -> None:
    hill = place.hill(interval=10, scheduled_at=START + timedelta(seconds=30))
    place.node().start()
    place.advance(29)
    assert place.numbers(hill) == []
    place.advance(12)
    assert place.numbers(hill) == [0, 1]


def test_before_the_setup_nothing_is_polled(place: Place) -> None:
    place.run(write_config, {"setup": False})
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(30)
    assert place.numbers(hill) == []
    place.run(write_config, {"setup": True})
    place.advance(2)
    assert place.numbers(hill) == [0]


def test_a_long_poll_overruns_the_next_tick_and_moves_none(place: Place) -> None:
    hill = place.hill(interval=5, timeout=5, health_gate=True)
    place.node().start()
    place.advance(2)
    place.agent.hangs = True  # from tick 1 on, each request takes its 5 s
    place.advance(16)
    place.agent.hangs = False
    place.advance(8)
    assert place.outcomes(hill) == [
        (0, "held"),
        (1, "unreachable"),
        (2, "overrun"),
        (3, "unreachable"),
        (4, "overrun"),
        (5, "held"),
    ]
    dues = result_of(
        place.db.read(lambda conn: conn.execute(select(ticks.c.due).order_by(ticks.c.tick)).scalars().all())
    )
    assert [due.timestamp() - START.timestamp() for due in dues] == [5.0 * tick for tick in range(len(dues))]


def test_after_a_restart_the_schedule_goes_on_and_what_was_missed_is_recorded(place: Place) -> None:
    hill = place.hill(interval=10)
    first = place.node().start()
    place.advance(15)
    first.stop()
    place.advance(40)
    place.node("two").start()
    place.advance(10)
    expected = [(0, "held"), (1, "held"), (2, "missed"), (3, "missed"), (4, "missed"), (5, "missed"), (6, "held")]
    assert place.outcomes(hill) == expected
    assert len(place.awards()) == 3


def test_what_was_missed_is_not_made_up_for_a_time_without_a_competition(place: Place) -> None:
    place.run(write_config, {"end": int(START.timestamp()) + 35})
    hill = place.hill(interval=10)
    first = place.node().start()
    place.advance(15)
    first.stop()
    place.advance(100)
    place.node("two").start()
    place.advance(10)
    assert place.outcomes(hill) == [(0, "held"), (1, "held"), (2, "missed"), (3, "missed")]
    assert not place.row(hill).running


def test_of_two_nodes_one_polls_and_the_other_takes_over_within_ten_seconds(place: Place) -> None:
    hill = place.hill(interval=1)
    one, two = place.node("one").start(), place.node("two").start()
    place.advance(10)
    assert len(place.agent.asked) == 11
    one.die()
    place.advance(10)
    assert two.poller._leading
    place.advance(5)
    outcomes = place.outcomes(hill)
    assert [number for number, _ in outcomes] == list(range(26))
    missed = sum(outcome == "missed" for _, outcome in outcomes)
    assert 0 < missed <= 10
    assert len(place.awards()) == 26 - missed == len(set(place.awards()))


def test_the_sum_of_lease_and_renewal_is_within_ten_seconds() -> None:
    assert TTL + RENEWAL < 10


def test_a_node_that_stops_gives_the_lease_to_the_next_at_once(place: Place) -> None:
    hill = place.hill(interval=10)
    one, _ = place.node("one").start(), place.node("two").start()
    place.advance(5)
    one.stop()
    place.advance(16)
    assert place.outcomes(hill) == [(0, "held"), (1, "held"), (2, "held")]


def test_a_node_whose_lease_was_taken_polls_no_more(place: Place) -> None:
    hill = place.hill(interval=10)
    one = place.node("one").start()
    place.advance(5)
    forever = START + timedelta(days=1)
    place.run(lambda conn: conn.execute(update(leases).values(holder="other", expires=forever)))
    place.advance(30)
    assert not one.poller._leading
    assert place.numbers(hill) == [0]


def test_a_poll_that_ends_after_the_lease_was_lost_is_not_recorded(place: Place) -> None:
    hill = place.hill(interval=10, timeout=10)
    one = place.node("one").start()
    place.advance(1)
    place.agent.hangs = True
    place.advance(9.5)  # tick 1 is under way
    forever = START + timedelta(days=1)
    place.run(lambda conn: conn.execute(update(leases).values(holder="other", expires=forever)))
    place.agent.let_go()
    place.advance(5)
    assert place.numbers(hill) == [0]
    assert not one.poller._leading


def test_a_stop_waits_for_the_poll_under_way(place: Place) -> None:
    hill = place.hill(interval=10)
    one = place.node("one").start()
    place.advance(1)
    place.agent.hangs = True
    place.advance(9)
    stopping = one.poller.stopService()
    assert not stopping.called
    place.agent.let_go()
    result_of(stopping)
    assert place.outcomes(hill) == [(0, "held"), (1, "held")]
    assert place.run(lambda conn: conn.execute(select(leases)).all()) == []
    assert place.clock.getDelayedCalls() == []


def test_a_stop_does_not_wait_for_long(place: Place) -> None:
    hill = place.hill(interval=100, timeout=90)
    place.agent.hangs = True
    one = place.node("one").start()
    place.advance(1)
    stopping = one.poller.stopService()
    place.advance(8)
    result_of(stopping)
    assert place.numbers(hill) == []
    place.agent.hangs = False
    place.node("two").start()
    place.advance(95)
    assert place.outcomes(hill) == [(0, "missed"), (1, "held")]


def test_new_settings_count_from_the_next_tick_on(place: Place) -> None:
    hill = place.hill(interval=10, reward=10)
    place.node().start()
    place.advance(5)
    place.run(write_settings, place.now, hill, hill_settings(url="http://hill/status", interval=5, reward=99))
    place.advance(11)
    assert place.numbers(hill) == [0, 1, 2]
    values = place.run(lambda conn: conn.execute(select(awards.c.value).order_by(awards.c.id)).scalars().all())
    assert values == [10, 99, 99]


def test_jitter_moves_each_tick_to_the_moment_that_the_secret_gives(place: Place) -> None:
    hill = place.hill(interval=10, jitter=5)
    place.node().start()
    place.advance(60, step=0.01)
    secret = place.run(read_secret, MOMENTS)
    schedule = Schedule(hill, START, 10, 5, secret)
    assert sorted(place.awards()) == [schedule.due(tick) for tick in range(6)]
    assert len({date.timestamp() % 10 for date in place.awards()}) == 6


def test_many_hills_change_often_and_the_plan_is_read_seldom(place: Place) -> None:
    for _ in range(20):
        place.hill(interval=10)
    node = place.node().start()
    place.advance(1)
    reads: list[str] = []
    read = place.db.read

    def counting(fn: Any, *args: Any, **facts: Any) -> Any:
        reads.append(fn.__name__)
        return read(fn, *args, **facts)

    place.db.read = counting  # type: ignore[method-assign]  # to count
    for _ in range(100):
        place.db.bus.publish({"challenges"})
        place.advance(0.1, step=0.1)
    assert reads.count("read_plan") <= 22
    assert node.poller._leading


def test_a_defect_with_one_hill_does_not_stop_the_others(place: Place) -> None:
    bad, good = place.hill(interval=10), place.hill(interval=10)
    node = place.node()
    run = place.db.run

    def failing(fn: Any, *args: Any, **facts: Any) -> Any:
        if fn.__name__ == "record_tick" and args[3] == bad:
            return fail(ZeroDivisionError())
        return run(fn, *args, **facts)

    place.db.run = failing  # type: ignore[method-assign]  # a defect that we don't have
    node.start()
    place.advance(15)
    assert place.outcomes(bad) == [(0, "missed"), (1, "missed")]
    assert place.outcomes(good) == [(0, "held"), (1, "held")]


def test_a_defect_in_a_poll_costs_its_tick_alone(place: Place) -> None:
    hill = place.hill(interval=10)
    node = place.node()
    poll, polls = node.office.client.poll, count()

    async def failing(settings: HillSettings) -> Evidence:
        if next(polls) == 1:
            raise ZeroDivisionError
        return await poll(settings)

    node.office.client.poll = failing  # type: ignore[method-assign]  # a defect that we don't have
    node.start()
    place.advance(25)
    assert place.outcomes(hill) == [(0, "held"), (1, "missed"), (2, "held")]


def test_a_database_in_trouble_is_offered_the_tick_again(place: Place) -> None:
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(5)
    run, refusals = place.db.run, iter(range(4))

    def troubled(fn: Any, *args: Any, **facts: Any) -> Any:
        if fn.__name__ == "record_tick" and next(refusals, None) is not None:
            raise Busy
        return run(fn, *args, **facts)

    place.db.run = troubled  # type: ignore[method-assign]  # trouble that a test can't wait for
    place.advance(20)
    assert place.outcomes(hill) == [(0, "held"), (1, "held"), (2, "held")]


def test_a_tick_that_somebody_else_has_recorded_ends_nothing(place: Place) -> None:
    hill = place.hill(interval=10, timeout=10)
    node = place.node().start()
    place.advance(1)
    place.agent.hangs = True
    place.advance(9.5)
    moment = Moment(1, START + timedelta(seconds=10))
    place.run(record_unasked, place.now, "one", hill, [moment], "missed", "")
    place.agent.let_go()
    place.advance(12)
    assert node.poller._leading
    assert place.outcomes(hill) == [(0, "held"), (1, "missed"), (2, "held")]


def test_new_settings_in_the_middle_of_catching_up_are_no_conflict(place: Place) -> None:
    hill = place.hill(interval=1)
    first = place.node().start()
    place.advance(5)
    first.stop()
    place.advance(2000, step=50)
    node = place.node("two")
    note = node.office.note
    changed: list[None] = []

    async def slow(fn: Any, *args: Any, **facts: Any) -> Any:
        piece = await note(fn, *args, **facts)
        if fn.__name__ == "catch_up":
            if not changed:
                settings = hill_settings(url="http://hill/status", interval=30)
                changed.append(place.run(write_settings, place.now, hill, settings))
            await deferLater(place.clock, 1)
        return piece

    node.office.note = slow  # type: ignore[method-assign]  # a slow database
    node.start()
    place.advance(100)
    numbers = place.numbers(hill)
    assert numbers == list(range(len(numbers)))
    assert node.poller._leading
    held = [number for number, outcome in place.outcomes(hill) if outcome == "held"]
    assert len(held) >= 3 + 6, "polled again, at the new interval"


def test_numbers_that_ran_ahead_do_not_silence_a_hill(place: Place) -> None:
    hill = place.hill(interval=10)
    one = place.node().start()
    place.advance(5)
    one.stop()
    place.run(lambda conn: conn.execute(update(hills).values(next_tick=1000)))
    place.node("two").start()
    place.advance(25)
    assert [number for number in place.numbers(hill) if number] == [1000, 1001]


# Resets


def test_a_reset_makes_the_target_pristine_at_its_interval(place: Place) -> None:
    hill = place.hill(interval=10, reset_url="http://hill/reset", reset_every=1)
    place.node().start()
    place.advance(59)
    assert place.row(hill).king_user_id == place.ada
    place.advance(2)
    ((headers, body),) = place.agent.resets
    assert place.agent.owner == ""
    row = place.row(hill)
    assert (row.king_user_id, row.resetting_since, row.reset_problem) == (None, None, None)
    secret = place.run(read_shared_secret, place.now)
    moment = int(headers["Service-Webhook-Signature"].partition(",")[0].removeprefix("t="))
    assert headers["Service-Webhook-Signature"] == signature(secret.signing, moment, body)
    place.advance(60)
    assert len(place.agent.resets) == 2


def test_while_a_target_is_reset_its_ticks_are_resetting(place: Place) -> None:
    hill = place.hill(interval=10, reset_url="http://hill/reset")
    place.node().start()
    place.advance(5)
    place.agent.hook = lambda path: setattr(place.agent, "owner", "ada") if path == "/status" else None
    place.run(ask_reset, hill)
    place.advance(20)
    assert place.outcomes(hill) == [(0, "held"), (1, "resetting"), (2, "resetting")]
    place.agent.hook = lambda _: None
    place.agent.owner = ""
    place.advance(3)
    place.agent.owner = "ada"
    place.advance(5)
    assert place.outcomes(hill)[3] == (3, "held")
    assert place.row(hill).reign == 3


def test_a_reset_is_given_up_after_five_minutes_and_the_reason_is_kept(place: Place) -> None:
    hill = place.hill(interval=100, reset_url="http://hill/reset")
    place.node().start()
    place.agent.hook = lambda _: setattr(place.agent, "owner", "ada")
    place.run(ask_reset, hill)
    place.advance(310)
    row = place.row(hill)
    assert "empty owner" in row.reset_problem
    assert (row.resetting_since, row.king_user_id) == (None, place.ada)
    place.advance(100)
    assert place.outcomes(hill)[-1] == (4, "held")


def test_a_reset_url_that_fails_ends_the_reset(place: Place) -> None:
    hill = place.hill(interval=10, reset_url="http://hill/reset")
    place.node().start()
    place.agent.reset_works = False
    place.run(ask_reset, hill)
    place.advance(20)
    assert place.row(hill).reset_problem == "the reset URL failed: status 500"
    assert [outcome for _, outcome in place.outcomes(hill)] == ["held", "held", "held"]


def test_a_reset_that_a_dead_node_had_begun_is_begun_again(place: Place) -> None:
    hill = place.hill(interval=10, reset_url="http://hill/reset")
    one = place.node().start()
    place.advance(1)
    place.agent.hook = lambda _: setattr(place.agent, "owner", "ada")
    place.run(ask_reset, hill)
    place.advance(2)
    one.die()
    assert place.row(hill).resetting_since is not None
    place.agent.hook = lambda _: None
    place.node("two").start()
    place.advance(10)
    assert len(place.agent.resets) == 2
    assert place.row(hill).resetting_since is None


def test_when_all_that_was_played_is_forgotten_hills_begin_anew(place: Place) -> None:
    hill = place.hill(interval=10)
    place.node().start()
    place.advance(34)
    place.run(forget_ticks)
    assert place.outcomes(hill) == []
    assert place.row(hill).king_user_id is None
    place.advance(12)
    assert place.outcomes(hill) == [(0, "held"), (1, "held")]
    first = place.row(hill).first_tick
    assert START + timedelta(seconds=34) <= first <= START + timedelta(seconds=36)
