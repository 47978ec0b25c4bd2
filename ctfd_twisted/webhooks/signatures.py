"""Signatures, digests and the headers of an event. Pure.

The key of every HMAC is the shared secret's text as it is shown, in UTF-8, so that a receiver needs no decoding.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import Final

_HEX_DIGITS: Final = 64
#: What the specification of Standard Webhooks puts before a secret.
_STANDARD: Final = "whsec_"


def signature(secrets: Sequence[str], timestamp: int, body: bytes) -> str:
    """``t=<timestamp>,v1=<hex>`` with one ``v1`` per secret, the newest first: what Stripe's libraries verify.

    *timestamp* is in Unix seconds. Signed is ``<timestamp>.<body>``.
    """
    signed = b"%d." % timestamp + body
    return ",".join((f"t={timestamp}", *(f"v1={_digest(secret, signed).hex()}" for secret in secrets)))


def standard_signature(secrets: Sequence[str], delivery_id: str, timestamp: int, body: bytes) -> str:
    """``v1,<base64>`` per secret, separated by blanks, over ``<id>.<timestamp>.<body>``: Standard Webhooks."""
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{base64.b64encode(_digest(secret, signed)).decode()}" for secret in secrets)


def standard_secret(secret: str) -> str:
    """The shared secret as the libraries of Standard Webhooks want it: the same key, as ``whsec_<base64>``."""
    return _STANDARD + base64.b64encode(secret.encode()).decode()


def digest_matches(secrets: Sequence[str], token: str, answered: str) -> bool:
    """Whether *answered* is the HMAC of *token* under one of *secrets*.

    It may be written as 64 hexadecimal characters of either case or in base64, of either alphabet, padded or not.
    """
    given = _read_digest(answered.strip())
    if given is None:
        return False
    return any(hmac.compare_digest(_digest(secret, token.encode()), given) for secret in secrets)


def event_headers(
    prefix: str, secrets: Sequence[str], *, event: str, delivery_id: str, timestamp: int, body: bytes, standard: bool
) -> tuple[tuple[str, str], ...]:
    """The headers of one attempt, but for ``Host`` and ``Content-Length``, which the request makes itself."""
    return (*plain_headers(prefix), *_signed(prefix, secrets, event, delivery_id, timestamp, body, standard=standard))


def plain_headers(prefix: str) -> tuple[tuple[str, str], ...]:
    """What every request to a receiver carries."""
    return (("User-Agent", prefix), ("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"))


def _signed(
    prefix: str, secrets: Sequence[str], event: str, delivery_id: str, timestamp: int, body: bytes, *, standard: bool
) -> Iterator[tuple[str, str]]:
    yield "Content-Type", "application/json"
    yield f"{prefix}-Event", event
    yield f"{prefix}-Signature", signature(secrets, timestamp, body)
    yield f"{prefix}-Id", delivery_id
    if standard:
        yield "webhook-id", delivery_id
        yield "webhook-timestamp", str(timestamp)
        yield "webhook-signature", standard_signature(secrets, delivery_id, timestamp, body)


def _digest(secret: str, message: bytes) -> bytes:
    return hmac.digest(secret.encode(), message, hashlib.sha256)


def _read_digest(text: str) -> bytes | None:
    try:
        if len(text) == _HEX_DIGITS:
            return bytes.fromhex(text)
        unpadded = text.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(unpadded + "=" * (-len(unpadded) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None
