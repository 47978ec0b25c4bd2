"""Polls in memory: what is asked of whom, in which order, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.fake_agent import FakeAgent, FakeAgents
from ctfd_twisted.testing.hills import hill_settings


class Range:
    """A client, and the agent at ``hill``."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.agent = FakeAgent("ada")
        self.reach = FakeAgents(hill=self.agent)
        numbers = count()
        self.client = HillClient(self.clock, self.reach, lambda: f"nonce {next(numbers)}")

    def poll(self, **settings: Any) -> Evidence:
        return result_of(self.client.poll(hill_settings(**{"url": "http://hill:31337/status", **settings})))


@pytest.fixture
def range_() -> Iterator[Range]:
    place = Range()
    yield place
    assert place.clock.getDelayedCalls() == [], "a deadline was left behind"


def test_no_two_requests_have_the_same_nonce(range_: Range) -> None:
    seen: list[str] = []
    range_.client = HillClient(range_.clock, range_.reach)
    range_.agent.key = "sesame"
    render = range_.agent.render

    def watching(request: Any) -> Any:
        seen.append(request.getHeader("KoTH-Nonce"))
        return render(request)

    range_.agent.render = watching  # type: ignore[method-assign]  # to look at the headers
    assert all(range_.poll(api_key="sesame").signed for _ in range(300))
    assert len(set(seen)) == 300
    assert {len(nonce) for nonce in seen} == {32}


def test_a_plain_poll_asks_once(range_: Range) -> None:
    evidence = range_.poll()
    assert (evidence.owners, evidence.failure, evidence.status) == (("ada",), None, 200)
    assert range_.agent.asked == ["/status"]
    assert evidence.started.timestamp() == 1_000_000


def test_the_health_gate_asks_owner_health_target_and_owner_again(range_: Range) -> None:
    assert range_.poll(health_gate=True).owners == ("ada", "ada")
    assert range_.agent.asked == ["/status", "/healthcheck", "/status"]
    range_.agent.asked.clear()
    assert range_.poll(health_gate=True, target_url="http://hill/").owners == ("ada", "ada")
    assert range_.agent.asked == ["/status", "/healthcheck", "/", "/status"]


def test_without_the_gate_the_target_is_not_asked(range_: Range) -> None:
    range_.poll(target_url="http://hill/")
    assert range_.agent.asked == ["/status"]


def test_an_owner_that_changes_within_a_tick_is_read_twice(range_: Range) -> None:
    def overthrow(path: str) -> None:
        if path == "/healthcheck":
            range_.agent.owner = "bob"

    range_.agent.hook = overthrow
    assert range_.poll(health_gate=True).owners == ("ada", "bob")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"healthy": False}, "health check"),
        ({"target_status": 500}, "target: status 500"),
    ],
)
def test_a_sick_application_is_unhealthy(range_: Range, change: dict[str, Any], says: str) -> None:
    for name, value in change.items():
        setattr(range_.agent, name, value)
    evidence = range_.poll(health_gate=True, target_url="http://hill/")
    assert evidence.failure == "unhealthy"
    assert says in evidence.detail
    assert evidence.owners == ()


def test_the_key_is_sent_to_the_agent_and_never_to_the_target(range_: Range) -> None:
    seen: dict[str, Any] = {}
    range_.agent.key = "sesame"
    render = range_.agent.render

    def watching(request: Any) -> Any:
        seen[request.path.decode()] = request.requestHeaders.copy()
        return render(request)

    range_.agent.render = watching  # type: ignore[method-assign]  # to look at the headers
    evidence = range_.poll(api_key="sesame", health_gate=True, target_url="http://hill/")
    assert evidence.signed
    assert seen["/status"].getRawHeaders("authorization") == ["sesame"]
    assert seen["/"].getRawHeaders("authorization") is None
    assert seen["/"].getRawHeaders("koth-nonce") is None


def test_a_wrong_key_is_unauthorized(range_: Range) -> None:
    range_.agent.key = "sesame"
    assert range_.poll(api_key="wrong").failure == "unauthorized"
    assert range_.poll().failure == "unauthorized"


def test_an_agent_without_signatures_is_marked(range_: Range) -> None:
    range_.agent.key, range_.agent.signs = "sesame", False
    evidence = range_.poll(api_key="sesame")
    assert (evidence.failure, evidence.signed) == (None, False)


def test_an_agent_that_reads_no_owner_says_that_nobody_claims(range_: Range) -> None:
    range_.agent.owner = None
    evidence = range_.poll()
    assert (evidence.owners, evidence.failure, evidence.status) == (("",), None, 500)


def test_an_agent_that_hangs_costs_its_timeout_and_no_more(range_: Range) -> None:
    range_.agent.hangs = True
    polling = Deferred.fromCoroutine(range_.client.poll(hill_settings(url="http://hill/status", timeout=3)))
    range_.clock.advance(2.9)
    assert not polling.called
    range_.clock.advance(0.1)
    evidence = result_of(polling)
    assert (evidence.failure, evidence.status) == ("unreachable", None)
    assert (evidence.latency_ms, evidence.detail) == (3000, "no complete answer within 3 seconds")


def test_no_name_and_no_listener_are_unreachable(range_: Range) -> None:
    assert "resolved" in range_.poll(url="http://nowhere/status").detail
    range_.reach.refusing.add("hill")
    evidence = range_.poll()
    assert (evidence.failure, evidence.status) == ("unreachable", None)
    assert "no connection" in evidence.detail


def test_a_redirect_is_not_followed(range_: Range) -> None:
    range_.agent.raw = (302, b"", {"Location": "http://hill/healthcheck"})
    assert range_.poll().failure == "malformed"
    assert range_.agent.asked == ["/status"]


@pytest.mark.parametrize(("size", "failure"), [(65_536, None), (65_537, "malformed")])
def test_an_answer_is_read_up_to_64_kib(range_: Range, size: int, failure: str | None) -> None:
    body = b'{"success":true,"data":{"identifier":"ada"}}'
    range_.agent.raw = (200, body + b" " * (size - len(body)), {})
    assert range_.poll().failure == failure


def test_a_reset_posts_a_body_and_says_why_it_failed(range_: Range) -> None:
    def reset(url: str) -> str | None:
        return result_of(range_.client.reset(hill_settings(reset_url=url), {"X-Proof": "p"}, b"{}"))

    assert reset("http://hill/reset") is None
    ((headers, body),) = range_.agent.resets
    assert (headers["X-Proof"], body) == ("p", b"{}")
    range_.agent.reset_works = False
    assert reset("http://hill/reset") == "status 500"
    assert "resolved" in str(reset("http://nowhere/reset"))
