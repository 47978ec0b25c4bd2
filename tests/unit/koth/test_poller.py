"""The poller over a Clock: when hills are asked, and what is recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection, delete, select

from ctfd_twisted.challenges.tables import challenge_ends, challenges
from ctfd_twisted.competition.store import read_secret, write_config
from ctfd_twisted.db.notices import touch
from ctfd_twisted.koth.keys import MOMENTS
from ctfd_twisted.koth.schedule import Schedule
from ctfd_twisted.koth.store import write_settings
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.hills import hill_settings
from tests.unit.koth.place import START, Place


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


def test_a_hill_with_an_end_has_no_ticks_from_then_on(place: Place) -> None:
    hill, other = place.hill(interval=10), place.hill(interval=10)
    end = {"challenge_id": hill, "ends_at": START + timedelta(seconds=20)}
    place.run(lambda conn: conn.execute(challenge_ends.insert().values(**end)))
    place.node().start()
    place.advance(45)
    assert place.outcomes(hill) == [(0, "held"), (1, "held")]
    assert place.numbers(other) == [0, 1, 2, 3, 4]
    assert not place.row(hill).running


def test_what_was_due_before_a_hills_end_and_not_polled_is_missed(place: Place) -> None:
    hill = place.hill(interval=10)
    end = {"challenge_id": hill, "ends_at": START + timedelta(seconds=30)}
    place.run(lambda conn: conn.execute(challenge_ends.insert().values(**end)))
    node = place.node().start()
    place.advance(5)
    node.die()
    place.advance(60)
    place.node("two").start()
    place.advance(20)
    assert place.outcomes(hill) == [(0, "held"), (1, "missed"), (2, "missed")]


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
