"""What is answered, byte for byte."""

import hashlib
import hmac

import pytest

from koth_agent.answers import FORBIDDEN, UNAUTHORIZED, health_answer, method_not_allowed, signature, status_answer
from koth_agent.run import Run


def test_a_known_owner() -> None:
    answer = status_answer("alice")
    assert (answer.status, answer.content_type) == (200, b"application/json")
    assert answer.body == b'{"success":true,"data":{"identifier":"alice"}}'


def test_nobody_holding_the_hill_is_an_answer() -> None:
    answer = status_answer("")
    assert (answer.status, answer.body) == (200, b'{"success":true,"data":{"identifier":""}}')


def test_an_unknown_owner() -> None:
    answer = status_answer(None)
    assert (answer.status, answer.body) == (500, b'{"success":false,"data":{"identifier":""}}')


def test_a_name_can_hold_any_character() -> None:
    assert status_answer('"Zoë"\n').body == '{"success":true,"data":{"identifier":"\\"Zoë\\"\\n"}}'.encode()


@pytest.mark.parametrize(
    ("run", "status", "body"),
    [
        (Run(b"ok\n", b"", 0), 200, b'{"success":true,"data":{"stdout":"ok\\n","stderr":"","status":0}}'),
        (Run(b"", b"", 3), 500, b'{"success":false,"data":{"stdout":"","stderr":"","status":3}}'),
        (Run(b"", b"!", 0), 500, b'{"success":false,"data":{"stdout":"","stderr":"!","status":0}}'),
        (Run(b"", b"", 137), 500, b'{"success":false,"data":{"stdout":"","stderr":"","status":137}}'),
    ],
)
def test_health_is_status_0_and_silence_on_standard_error(run: Run, status: int, body: bytes) -> None:
    answer = health_answer(run)
    assert (answer.status, answer.body) == (status, body)


def test_output_that_is_not_utf8_is_answered_all_the_same() -> None:
    assert (
        health_answer(Run(b"\xff", b"", 0)).body
        == '{"success":true,"data":{"stdout":"�","stderr":"","status":0}}'.encode()
    )


def test_refusals_are_plain_text() -> None:
    assert (UNAUTHORIZED.status, UNAUTHORIZED.body) == (401, b"Unauthorized")
    assert UNAUTHORIZED.content_type == b"text/plain; charset=utf-8"
    assert (FORBIDDEN.status, FORBIDDEN.body, FORBIDDEN.content_type) == (403, b"Forbidden", b"text/plain")


def test_405_names_the_methods() -> None:
    assert method_not_allowed({"HEAD", "GET"}).headers == ((b"Allow", b"GET, HEAD"),)


def test_the_signature_is_an_hmac_over_nonce_dot_body() -> None:
    expected = hmac.new(b"key", b"nonce." + b'{"a":1}', hashlib.sha256).hexdigest()
    assert signature(b"key", b"nonce", b'{"a":1}') == b"v1=" + expected.encode()
