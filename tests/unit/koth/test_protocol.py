"""What agents say, and what it means."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.koth.protocol import (
    KEPT_BYTES,
    Failure,
    Reading,
    Reply,
    gathered,
    read_claim,
    read_health,
    read_target,
    signature,
)

NOW = datetime(2026, 3, 14, tzinfo=UTC)
KEY, NONCE = "key", "0123"


def claim(body: bytes | dict[str, object], status: int = 200, **facts: Any) -> Reply:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply("claim", 7, status, content, **facts)


def says(owner: object, *, success: object = True) -> dict[str, object]:
    return {"success": success, "data": {"identifier": owner}}


def test_the_owner_is_read_without_blanks_around_it() -> None:
    assert read_claim(claim(says(" ada \n")), None, NONCE) == Reading(owner="ada")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_unauthorized(status: int) -> None:
    assert read_claim(claim(b"Unauthorized", status), KEY, NONCE).failure == "unauthorized"


@pytest.mark.parametrize("status", [200, 500])
def test_an_agent_that_cannot_tell_the_owner_says_that_nobody_claims(status: int) -> None:
    reading = read_claim(claim(says("", success=False), status), None, NONCE)
    assert (reading.failure, reading.owner) == (None, "")
    assert "could not read" in reading.detail


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 200),
        (b"<html>502</html>", 502),
        (b"\xff\xfe", 200),
        (b'{"success":true,"data":{"identifier":"\xff"}}', 200),
        (b'{"success":true,"data":{"identifier":"\\ud800"}}', 200),
        (b'{"a":' + b"[" * 60_000, 200),
        (b"[]", 200),
        (b'{"success":true}', 200),
        (b'{"success":true,"data":null}', 200),
        (json.dumps(says(None)).encode(), 200),
        (json.dumps(says(7)).encode(), 200),
        (json.dumps(says("ada", success=1)).encode(), 200),
        (json.dumps(says("ada", success=False)).encode(), 500),
        (json.dumps(says("ada")).encode(), 500),
        (json.dumps(says("ada")).encode(), 404),
        (json.dumps(says("ada")).encode(), 302),
    ],
)
def test_anything_but_the_agreed_answer_is_malformed(body: bytes, status: int) -> None:
    reading = read_claim(claim(body, status), None, NONCE)
    assert reading.failure == "malformed"
    assert reading.detail


def test_what_the_exchange_ended_with_is_kept() -> None:
    reply = Reply("claim", 5000, failure="unreachable", detail="timed out")
    assert read_claim(reply, None, NONCE) == Reading("unreachable", detail="timed out")


def test_a_null_character_never_reaches_the_database() -> None:
    assert "\0" not in read_claim(claim(says("a\0b")), None, NONCE).owner


def test_the_signature_is_over_the_nonce_and_the_raw_body() -> None:
    body = b'{"success":true}'
    expected = hmac.new(b"key", b"0123." + body, hashlib.sha256).hexdigest()
    assert signature(KEY, NONCE, body) == f"v1={expected}"


def test_a_right_signature_marks_the_answer_signed() -> None:
    body = json.dumps(says("ada")).encode()
    signed = claim(body, signature=signature(KEY, NONCE, body))
    assert read_claim(signed, KEY, NONCE) == Reading(owner="ada", signed=True)


def test_a_missing_signature_is_accepted_and_marked() -> None:
    assert read_claim(claim(says("ada")), KEY, NONCE) == Reading(owner="ada", signed=False)


@pytest.mark.parametrize("wrong", ["", "v1=", "v1=" + "0" * 64, "v0=x", "é"])
def test_a_wrong_signature_is_unauthorized(wrong: str) -> None:
    assert read_claim(claim(says("ada"), signature=wrong), KEY, NONCE).failure == "unauthorized"


def test_a_signature_for_another_nonce_or_body_is_wrong() -> None:
    body = json.dumps(says("ada")).encode()
    assert read_claim(claim(body, signature=signature(KEY, "other", body)), KEY, NONCE).failure == "unauthorized"
    assert read_claim(claim(body, signature=signature(KEY, NONCE, b"x")), KEY, NONCE).failure == "unauthorized"


def test_without_a_key_of_ours_no_signature_counts() -> None:
    assert read_claim(claim(says("ada"), signature="v1=00"), None, NONCE) == Reading(owner="ada", signed=False)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply("health", 1, 200, b'{"success":true,"data":{"stdout":"","stderr":"","status":0}}'), None),
        (Reply("health", 1, 500, b'{"success":false,"data":{"stdout":"","stderr":"x","status":1}}'), "unhealthy"),
        (Reply("health", 1, 500, b'{"success":true}'), "unhealthy"),
        (Reply("health", 1, 200, b"{}"), "unhealthy"),
        (Reply("health", 1, 404, b"no"), "unhealthy"),
        (Reply("health", 1, failure="unreachable", detail="refused"), "unhealthy"),
        (Reply("health", 1, 401, b"Unauthorized"), "unauthorized"),
        (Reply("health", 1, 200, b'{"success":true}', signature="v1=00"), "unauthorized"),
    ],
)
def test_the_health_check_passes_only_by_success(reply: Reply, failure: Failure | None) -> None:
    assert read_health(reply, KEY, NONCE).failure == failure


@pytest.mark.parametrize(
    ("status", "failure"), [(200, None), (302, None), (399, None), (404, "unhealthy"), (500, "unhealthy")]
)
def test_the_target_must_answer_2xx_or_3xx(status: int, failure: Failure | None) -> None:
    assert read_target(Reply("target", 1, status)).failure == failure


def test_a_target_that_does_not_answer_is_unhealthy() -> None:
    assert read_target(Reply("target", 1, failure="tls_error", detail="x")).failure == "unhealthy"


def test_evidence_keeps_the_first_bytes_of_each_answer() -> None:
    long = claim(b"\xff\0" + b"a" * 500)
    evidence = gathered(NOW, [long], [Reading("malformed", detail="d")])
    assert evidence.failure == "malformed"
    assert evidence.owners == ()
    (kept,) = evidence.answers
    assert kept.body.startswith("\\xff\N{REPLACEMENT CHARACTER}aaa")
    assert kept.body.count("a") == KEPT_BYTES - 2


def test_evidence_of_a_gated_poll_holds_both_owners_and_is_signed_when_all_is() -> None:
    replies = [claim(b"1"), Reply("health", 1, 200), Reply("target", 1, 200), claim(b"2")]
    readings = [Reading(owner="a", signed=True), Reading(signed=True), read_target(replies[2]), Reading(owner="b")]
    evidence = gathered(NOW, replies, readings)
    assert evidence.owners == ("a", "b")
    assert not evidence.signed
    assert [kept.step for kept in evidence.answers] == ["claim", "health", "target", "claim"]


@given(st.binary(max_size=400), st.integers(100, 599), st.one_of(st.none(), st.text(max_size=80)))
def test_no_answer_breaks_the_reader(body: bytes, status: int, header: str | None) -> None:
    reply = Reply("claim", 1, status, body, header)
    reading = read_claim(reply, KEY, NONCE)
    assert reading.failure is not None or reading.owner == reading.owner.strip()
    gathered(NOW, [reply], [reading]).answers[0].body.encode()
    read_health(reply, KEY, NONCE)
