"""What the load and the receiver of webhooks read."""

from __future__ import annotations

import pytest

from bench.hooks import Cost, delays
from bench.hose import Head, head_of
from bench.receiver import Came, is_signed
from bench.steady import Sent
from ctfd_twisted.webhooks.signatures import event_headers

ANSWER = b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length:  5\r\n\r\n"


def test_a_head_tells_how_many_bytes_follow() -> None:
    assert head_of(ANSWER + b"hello") == Head(len(ANSWER), 5, good=True)
    found = head_of(ANSWER.replace(b"200 OK", b"503 No"))
    assert found is not None
    assert not found.good


def test_a_head_that_has_not_ended_is_waited_for() -> None:
    assert head_of(b"") is None
    assert head_of(ANSWER[:-1]) is None


@pytest.mark.parametrize("text", [b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nContent-Length: 5", b"x" * 10_000])
def test_an_answer_without_a_length_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"this is no head|without a length"):
        head_of(text)


def test_the_platforms_signature_is_verified_and_another_is_not() -> None:
    lines = event_headers(
        "Service-Webhook", ("right",), event="e", delivery_id="1", timestamp=7, body=b"{}", standard=False
    )
    head = b"POST / HTTP/1.1\r\n" + "\r\n".join(f"{name}: {value}" for name, value in lines).encode()
    assert is_signed("right", head, b"{}")
    assert not is_signed("wrong", head, b"{}")
    assert not is_signed("right", head, b"{ }")
    assert not is_signed("right", b"POST / HTTP/1.1", b"{}")


def test_a_delay_ends_with_the_first_coming_and_what_never_came_has_none() -> None:
    came = Came(["a", "b", "a", "ping"], [11.0, 13.0, 99.0, 0.0])
    assert delays({"a": 10.5, "b": 10.0, "never": 1.0}, came) == [0.5, 3.0]


def test_a_cost_is_told_per_second_of_the_processor() -> None:
    assert Cost(deliveries=1000, seconds=9, cpu=2, server=1).per_cpu_second == 500


def test_requests_are_counted_within_a_time() -> None:
    assert Sent([1.0, 2.0, 3.0], [], [], []).between(1.0, 3.0) == 2
