"""Nodes that begin, stop, die and take over; what was missed meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import select, update
from twisted.internet.task import deferLater

from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.tables import leases
from ctfd_twisted.koth.poller import RENEWAL, TTL
from ctfd_twisted.koth.store import write_settings
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.hills import hill_settings
from tests.unit.koth.place import START, Place


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
