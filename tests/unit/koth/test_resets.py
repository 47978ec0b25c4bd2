"""Targets that are made pristine, and competitions that begin anew."""

from __future__ import annotations

from datetime import timedelta

from ctfd_twisted.koth.plans import ask_reset
from ctfd_twisted.koth.store import forget_ticks
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.signatures import signature
from tests.unit.koth.place import START, Place


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
