"""Signatures are CTFd's where CTFd's must keep working, and keys of different purposes are unrelated."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from itsdangerous import BadSignature, SignatureExpired, URLSafeTimedSerializer

from ctfd_twisted.accounts.keys import INVITE_SECONDS, Keys, may_be_signed_in, new_session_sid, sid_hash, token_id_of

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
SECRET = b"a secret"


def test_a_signed_token_is_what_ctfd_signs() -> None:
    """The payload, a time and an HMAC-SHA1 keyed as itsdangerous derives it, which CTFd leaves as it is."""
    keys = Keys(SECRET)
    token = keys.sign(NOW, {"id": 7})
    assert URLSafeTimedSerializer(SECRET).loads(token) == {"id": 7}
    signed, _, signature = token.rpartition(".")
    key = hashlib.sha1(b"itsdangerous" + b"signer" + SECRET).digest()  # noqa: S324 - what CTFd uses
    expected = hmac.digest(key, signed.encode(), hashlib.sha1)
    assert signature == base64.urlsafe_b64encode(expected).decode().rstrip("=")


def test_a_signed_token_grows_old() -> None:
    keys = Keys(SECRET)
    token = keys.sign(NOW, {"id": 7})
    later = NOW + timedelta(seconds=INVITE_SECONDS)
    assert keys.read_signed(later, token, INVITE_SECONDS) == {"id": 7}
    with pytest.raises(SignatureExpired):
        keys.read_signed(later + timedelta(seconds=1), token, INVITE_SECONDS)
    with pytest.raises(BadSignature):
        Keys(b"another").read_signed(NOW, token, INVITE_SECONDS)


def test_a_teams_mac_dies_with_its_password() -> None:
    keys = Keys(SECRET)
    assert keys.team_mac(7, "hash") == hmac.new(SECRET + b"hash", b"7", hashlib.sha1).hexdigest()
    assert keys.team_mac(7, None) == hmac.new(SECRET, b"7", hashlib.sha1).hexdigest()
    assert keys.team_mac(7, "hash") != keys.team_mac(7, "another")


def test_the_session_hash_of_no_password_is_that_of_the_empty_text() -> None:
    keys = Keys(SECRET)
    assert keys.password_mac(None) == keys.password_mac("") == hmac.new(SECRET, b"", hashlib.sha1).hexdigest()
    assert keys.password_mac("x") != keys.password_mac("y")


def test_session_ids_are_told_apart_by_their_kind() -> None:
    keys = Keys(SECRET)
    session, by_token = new_session_sid(), keys.token_sid(12, "digest")
    assert may_be_signed_in(session)
    assert not may_be_signed_in(by_token)
    assert not may_be_signed_in("an older visitor's")
    assert (token_id_of(session), token_id_of(by_token), token_id_of("t.x.y"), token_id_of("t.")) == (
        None,
        12,
        None,
        None,
    )
    assert new_session_sid() != session
    assert sid_hash(session) != sid_hash(by_token)


def test_the_session_of_a_token_is_always_the_same_and_bound_to_its_value() -> None:
    keys = Keys(SECRET)
    assert keys.token_sid(12, "digest") == keys.token_sid(12, "digest")
    assert len({keys.token_sid(12, "digest"), keys.token_sid(13, "digest"), keys.token_sid(12, "other")}) == 3
    assert Keys(b"another").token_sid(12, "digest") != keys.token_sid(12, "digest")


def test_keys_of_different_purposes_differ() -> None:
    keys = Keys(SECRET)
    assert len({keys.derived("a"), keys.derived("b"), Keys(b"other").derived("a")}) == 3
    assert len(keys.mail_key()) == 44
