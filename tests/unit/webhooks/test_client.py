"""One exchange with a receiver in memory."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.webhooks import URL, MemoryReach, Receiver, SilentAgent
from ctfd_twisted.webhooks.client import Exchange, WebhookClient, host_header
from ctfd_twisted.webhooks.egress import Egress

OPEN = Egress()
HEADERS = (("User-Agent", "Service-Webhook"), ("Service-Webhook-Event", "ping"))


def posted(answer: Any, body: bytes = b"{}") -> tuple[Exchange, Receiver]:
    receiver = Receiver(lambda: "", answer)
    reach = MemoryReach()
    reach.serve("receiver.example", receiver.app.resource())
    client = WebhookClient(Clock(), reach, "Service-Webhook")
    return result_of(client.post(URL, HEADERS, body, OPEN)), receiver


def answering(status: int, body: bytes = b"", **headers: str) -> Any:
    def answer(request: Any) -> bytes:
        request.setResponseCode(status)
        for name, value in headers.items():
            request.setHeader(name.replace("_", "-").encode(), value.encode())
        return body

    return answer


def test_an_answer_is_told_with_its_status_and_what_was_sent() -> None:
    exchange, receiver = posted(answering(202, b"thanks", retry_after="7"), b'{"a": 1}')
    assert (exchange.status, exchange.answer, exchange.retry_after, exchange.problem) == (202, b"thanks", "7", None)
    assert exchange.complete
    (request,) = receiver.received
    assert request.body == b'{"a": 1}'
    sent = dict(exchange.request_headers)
    assert sent == {**dict(HEADERS), "Host": "receiver.example", "Content-Length": "8"}
    assert {name.lower(): value for name, value in sent.items()}.items() <= request.headers.items()
    assert [step.step for step in exchange.steps] == ["resolve", "connect", "request", "answer"]


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    exchange, receiver = posted(answering(302, location="http://receiver.example/other"))
    assert exchange.status == 302
    assert len(receiver.received) == 1


def test_four_kib_of_an_answer_are_read() -> None:
    exchange, _ = posted(answering(200, b"x" * 100_000))
    assert exchange.answer == b"x" * 4096
    assert not exchange.complete


@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        ("gzip", gzip.compress(b"y" * 1_000_000, mtime=0)),
        ("x-gzip", gzip.compress(b"y" * 5000, mtime=0)),
        ("deflate", zlib.compress(b"y" * 5000)),
        ("deflate", zlib.compress(b"y" * 5000)[2:-4]),
    ],
)
def test_a_compressed_answer_is_read_up_to_four_kib_of_what_it_holds(encoding: str, encoded: bytes) -> None:
    exchange, _ = posted(answering(200, encoded, content_encoding=encoding))
    assert exchange.answer == b"y" * 4096


def test_a_compressed_answer_that_fits_is_complete() -> None:
    exchange, _ = posted(answering(200, gzip.compress(b"short", mtime=0), content_encoding="gzip"))
    assert (exchange.answer, exchange.complete) == (b"short", True)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_answer_that_is_not_what_it_says_still_has_its_status(encoding: str) -> None:
    exchange, _ = posted(answering(200, b"not compressed", content_encoding=encoding))
    assert (exchange.status, exchange.complete) == (200, False)


@pytest.mark.parametrize(
    ("reach", "kind", "step"),
    [
        (MemoryReach(), "dns", "resolve"),
        (MemoryReach(**{"receiver.example": None}), "connection", "connect"),
    ],
)
def test_what_keeps_a_request_from_its_receiver_is_told(reach: MemoryReach, kind: str, step: str) -> None:
    exchange = result_of(WebhookClient(Clock(), reach, "X").post(URL, HEADERS, b"", OPEN))
    assert exchange.problem is not None
    assert (exchange.status, exchange.problem.kind) == (None, kind)
    assert (exchange.steps[-1].step, exchange.steps[-1].ok, exchange.steps[-1].detail) == (
        step,
        False,
        exchange.problem.text,
    )


def test_a_refused_address_is_told() -> None:
    reach = MemoryReach(**{"receiver.example": SilentAgent()})
    reach.names["receiver.example"] = ["93.184.215.14", "169.254.169.254"]
    exchange = result_of(WebhookClient(Clock(), reach, "X").post(URL, HEADERS, b"", OPEN))
    assert exchange.problem is not None
    assert exchange.problem.kind == "egress"
    assert "link-local" in exchange.problem.text


def test_no_answer_within_ten_seconds_is_a_timeout() -> None:
    clock, silent = Clock(), SilentAgent()
    waiting = Deferred.fromCoroutine(
        WebhookClient(clock, MemoryReach(**{"receiver.example": silent}), "X").post(URL, HEADERS, b"", OPEN)
    )
    clock.advance(9.9)
    assert not waiting.called
    clock.advance(0.1)
    exchange = result_of(waiting)
    assert exchange.problem is not None
    assert (exchange.problem.kind, exchange.latency_ms, silent.given_up) == ("timeout", 10_000, 1)
    assert exchange.steps[-1].step == "request"
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://receiver.example/hook", "receiver.example"),
        ("http://receiver.example:80/", "receiver.example"),
        ("https://receiver.example:443/", "receiver.example"),
        ("https://receiver.example:80/", "receiver.example:80"),
        ("http://[::1]:9000/", "[::1]:9000"),
    ],
)
def test_the_host_is_named_with_its_port_unless_that_is_the_schemes_own(url: str, host: str) -> None:
    assert host_header(url) == host
