"""Signatures as other people's libraries verify them."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.webhooks.signatures import (
    digest_matches,
    event_headers,
    signature,
    standard_secret,
    standard_signature,
)

SECRET = "5d7a" * 16
OLD = "a0b1" * 16
TEXTS = st.text(max_size=50)


def stripe_accepts(body: bytes, header: str, secret: str) -> bool:
    try:
        # Stripe's library also refuses a time that is too old; the scheme itself has no such limit.
        return bool(stripe.WebhookSignature.verify_header(body.decode(), header, secret, None))
    except stripe.SignatureVerificationError:
        return False


def by_hand(secret: str, message: str) -> bytes:
    return hmac.new(secret.encode(), message.encode(), hashlib.sha256).digest()


@given(TEXTS, st.integers(0, 2**33))
def test_stripes_library_verifies_every_signature(body: str, timestamp: int) -> None:
    header = signature([SECRET], timestamp, body.encode())
    assert stripe_accepts(body.encode(), header, SECRET)
    assert not stripe_accepts(body.encode() + b" ", header, SECRET)
    assert not stripe_accepts(body.encode(), header.replace(f"t={timestamp}", f"t={timestamp + 1}"), SECRET)


def test_during_the_overlap_either_secret_verifies_the_newer_first() -> None:
    header = signature([SECRET, OLD], 1_763_640_000, b"{}")
    new, old = (by_hand(secret, "1763640000.{}").hex() for secret in (SECRET, OLD))
    assert header == f"t=1763640000,v1={new},v1={old}"
    assert stripe_accepts(b"{}", header, SECRET)
    assert stripe_accepts(b"{}", header, OLD)
    assert not stripe_accepts(b"{}", header, "another")


@given(TEXTS, TEXTS)
def test_a_digest_is_accepted_in_every_way_to_write_it(secret: str, token: str) -> None:
    digest = by_hand(secret, token)
    plain = base64.b64encode(digest).decode()
    ways = [digest.hex(), digest.hex().upper(), plain, plain.rstrip("="), base64.urlsafe_b64encode(digest).decode()]
    assert all(digest_matches([OLD, secret], token, f" {way}\n") for way in ways)


@pytest.mark.parametrize(
    "answered",
    [
        "",
        "00" * 32,
        "zz" * 32,
        "AAAA",
        "=",
        "é" * 64,
        by_hand(SECRET, "other").hex(),
        by_hand(SECRET, "token").hex()[:-1],
    ],
)
def test_another_digest_does_not_validate(answered: str) -> None:
    assert not digest_matches([SECRET], "token", answered)


@given(TEXTS)
def test_anything_may_be_answered_to_a_validation(answered: str) -> None:
    assert digest_matches([SECRET], "token", answered) is False


def test_standard_webhooks_are_signed_with_the_same_key() -> None:
    shown = standard_secret(SECRET)
    assert shown.startswith("whsec_")
    key = base64.b64decode(shown.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, b"whd_1.1763640000.{}", hashlib.sha256).digest()).decode()
    assert standard_signature([SECRET], "whd_1", 1_763_640_000, b"{}") == f"v1,{expected}"
    assert len(standard_signature([SECRET, OLD], "whd_1", 1_763_640_000, b"{}").split(" ")) == 2


def test_the_headers_are_those_of_the_specification() -> None:
    headers = event_headers(
        "Service-Webhook",
        [SECRET],
        event="team.created",
        delivery_id="whd_1",
        timestamp=1_763_640_000,
        body=b"{}",
        standard=False,
    )
    assert dict(headers) == {
        "User-Agent": "Service-Webhook",
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
        "Service-Webhook-Event": "team.created",
        "Service-Webhook-Signature": signature([SECRET], 1_763_640_000, b"{}"),
        "Service-Webhook-Id": "whd_1",
    }


def test_the_prefix_names_agent_and_headers_and_standard_headers_come_beside() -> None:
    headers = dict(
        event_headers(
            "CTFd-Webhook", [SECRET], event="ping", delivery_id="whd_1", timestamp=7, body=b"{}", standard=True
        )
    )
    assert headers["User-Agent"] == "CTFd-Webhook"
    assert {"CTFd-Webhook-Event", "CTFd-Webhook-Signature", "CTFd-Webhook-Id"} <= set(headers)
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("whd_1", "7")
    assert headers["webhook-signature"] == standard_signature([SECRET], "whd_1", 7, b"{}")
