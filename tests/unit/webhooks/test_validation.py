"""Which answers prove that a receiver knows the secret, and what is said of the others."""

from __future__ import annotations

import hashlib
import hmac

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.webhooks.validation import checked_events, what_is_wrong

SECRET = "k" * 64
TOKEN = "t" * 43
DIGEST = hmac.new(SECRET.encode(), TOKEN.encode(), hashlib.sha256).hexdigest()


def wrong(answer: bytes, status: int = 200, *, complete: bool = True) -> str | None:
    found = what_is_wrong([SECRET], TOKEN, status, answer, complete=complete)
    return None if found is None else found.kind


def test_the_digest_of_the_token_validates() -> None:
    assert wrong(msgspec.json.encode({"response": DIGEST, "more": 1})) is None


@pytest.mark.parametrize("status", [201, 204, 301, 404, 500])
def test_only_200_validates(status: int) -> None:
    assert wrong(msgspec.json.encode({"response": DIGEST}), status) == "status"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no",
        b"[]",
        b'"x"',
        b"{}",
        b'{"response": null}',
        b'{"response": 7}',
        b"\xff",
        b"[" * 4000,
        b'{"a":"\xed"}',
    ],
)
def test_what_is_no_json_object_with_a_response_is_a_wrong_body(answer: bytes) -> None:
    assert wrong(answer) == "body"


def test_a_body_that_was_cut_off_does_not_validate() -> None:
    assert wrong(msgspec.json.encode({"response": DIGEST}), complete=False) == "body"


@given(st.text())
def test_any_other_text_is_a_mismatch(text: str) -> None:
    assert wrong(msgspec.json.encode({"response": text})) == "digest"


@given(st.binary())
def test_any_answer_is_judged(answer: bytes) -> None:
    assert wrong(answer) in {"body", "digest"}


def test_events_are_chosen_by_name_each_once() -> None:
    assert checked_events(["team.created", "user.created", "team.created"]) == ("team.created", "user.created")
    with pytest.raises(ValueError, match="at least one"):
        checked_events([])
    with pytest.raises(ValueError, match=r"'ping'.*user\.created"):
        checked_events(["user.created", "ping"])
