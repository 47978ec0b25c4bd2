"""Defects, races and a database in trouble: none costs more than a tick."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from twisted.internet.defer import fail

from ctfd_twisted.errors import Busy
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.recording import Moment
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.skipping import record_unasked
from tests.unit.koth.place import START, Place


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
