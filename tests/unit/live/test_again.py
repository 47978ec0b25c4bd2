"""Work that is done anew whenever it has become stale."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ctfd_twisted.errors import Busy
from ctfd_twisted.live.again import Again


class Work:
    """What is done; it waits until a test ends it."""

    def __init__(self) -> None:
        self.runs: list[Deferred[None]] = []

    async def __call__(self) -> None:
        self.runs.append(Deferred())
        await self.runs[-1]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_becomes_stale_meanwhile_is_done_once_more(clock: Clock) -> None:
    work = Work()
    again = Again(clock, work)
    again.poke()
    assert work.runs == []  # it has not been started
    again.start()
    for _ in range(3):
        again.poke()
    assert len(work.runs) == 1
    work.runs[0].callback(None)
    assert len(work.runs) == 2
    work.runs[1].callback(None)
    assert len(work.runs) == 2


def test_two_beginnings_are_a_pause_apart(clock: Clock) -> None:
    work = Work()
    again = Again(clock, work, pause=2)
    again.start()
    again.poke()
    work.runs[0].callback(None)
    again.poke()
    clock.advance(1.9)
    assert len(work.runs) == 1
    clock.advance(0.1)
    assert len(work.runs) == 2


def test_who_waits_does_not_wait_for_the_pause(clock: Clock) -> None:
    work = Work()
    again = Again(clock, work, pause=2)
    again.start()
    assert again.settled().called
    again.poke()
    work.runs[0].callback(None)
    again.mark()
    settled = again.settled()
    assert not settled.called
    work.runs[1].callback(None)
    assert settled.called


def test_who_comes_while_it_is_done_waits_for_the_next_time(clock: Clock) -> None:
    work = Work()
    again = Again(clock, work)
    again.start()
    again.poke()
    settled, gone = again.settled(), again.settled()
    gone.addErrback(lambda _: None)
    gone.cancel()
    work.runs[0].callback(None)
    assert not settled.called
    work.runs[1].callback(None)
    assert settled.called


class TestTrouble(SynchronousTestCase):
    """Work that fails."""

    def test_is_tried_again_and_told_to_who_waits(self) -> None:
        for trouble, logged in ((Busy(), 0), (ValueError("no"), 1)):
            clock, work = Clock(), Work()
            again = Again(clock, work)
            again.start()
            again.mark()
            settled = again.settled()
            work.runs[0].errback(trouble)
            self.failureResultOf(settled, Busy)
            assert len(self.flushLoggedErrors(ValueError)) == logged
            clock.advance(1)
            assert len(work.runs) == 2
            stopped = again.stop()
            self.assertNoResult(stopped)
            work.runs[1].callback(None)
            self.successResultOf(stopped)
            assert clock.getDelayedCalls() == []
