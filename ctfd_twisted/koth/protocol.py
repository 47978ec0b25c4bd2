"""What agents and targets say, and what it means. Pure: bytes that came back in, readings out."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

import msgspec

Step = Literal["claim", "health", "target", "reset"]
#: Why nothing could be learnt from an exchange; also the outcome of its tick.
Failure = Literal["unauthorized", "unreachable", "tls_error", "malformed", "unhealthy"]

#: More of an answer is not read.
MOST_BYTES: Final = 65_536
#: So much of each answer is kept as evidence.
KEPT_BYTES: Final = 256
#: So much of an identifier is kept; no name of an account is longer.
KEPT_CHARACTERS: Final = 256

NONCE_HEADER: Final = "KoTH-Nonce"
SIGNATURE_HEADER: Final = "KoTH-Signature"

_OK: Final = 200
_REFUSED: Final = frozenset({401, 403})
#: What the agent answers when it can't tell the owner, for example because nobody has written the watched file yet.
_NO_OWNER: Final = 500


class Reply(msgspec.Struct, frozen=True):
    """What one request brought back; ``status`` is None where no answer came, and ``detail`` says why then.

    ``fingerprint`` is that of the certificate that was shown, ``connected`` false where nobody took the call.
    """

    step: Step
    latency_ms: int
    status: int | None = None
    body: bytes = b""
    signature: str | None = None
    failure: Failure | None = None
    detail: str = ""
    fingerprint: str | None = None
    connected: bool = True


class Kept(msgspec.Struct, frozen=True):
    """What stays of a reply as evidence: the first bytes of the body, undecodable ones escaped."""

    step: Step
    status: int | None
    latency_ms: int
    body: str


class Reading(msgspec.Struct, frozen=True):
    """What one reply says: whether it can be believed, and the owner if it was asked for one."""

    failure: Failure | None = None
    owner: str = ""
    signed: bool = False
    detail: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """All that one poll has learnt.

    ``owners`` holds the text of each reading of the owner, and is empty where ``failure`` is not None. ``status``,
    ``latency_ms``, ``fingerprint`` and ``connected`` are those of the first answer.
    """

    started: datetime
    latency_ms: int
    status: int | None
    owners: tuple[str, ...] = ()
    failure: Failure | None = None
    signed: bool = False
    detail: str = ""
    answers: tuple[Kept, ...] = ()
    fingerprint: str | None = None
    connected: bool = True


class _Owner(msgspec.Struct):
    identifier: str


class _Status(msgspec.Struct):
    success: bool
    data: _Owner


class _Health(msgspec.Struct):
    success: bool


def signature(key: str, nonce: str, body: bytes) -> str:
    """The value of the header ``KoTH-Signature`` with which an agent that has *key* answers *nonce* by *body*."""
    return "v1=" + hmac.digest(key.encode(), nonce.encode() + b"." + body, "sha256").hex()


def read_claim(reply: Reply, key: str | None, nonce: str) -> Reading:
    """The owner that an agent's answer to ``/status`` tells."""
    trouble, signed = _trouble(reply, key, nonce)
    if trouble is not None:
        return trouble
    try:
        answer = msgspec.json.decode(reply.body, type=_Status)
    except (ValueError, RecursionError) as error:
        return Reading("malformed", detail=f"status {reply.status}, and not the agreed JSON: {error}")
    owner = clean(answer.data.identifier)
    if answer.success and reply.status == _OK:
        return Reading(owner=owner, signed=signed)
    if not answer.success and reply.status in {_OK, _NO_OWNER} and not owner:
        return Reading(signed=signed, detail="the agent could not read the owner")
    return Reading("malformed", detail=f"status {reply.status} with success {str(answer.success).lower()}")


def read_health(reply: Reply, key: str | None, nonce: str) -> Reading:
    """Whether an agent's answer to ``/healthcheck`` says that the application works."""
    trouble, signed = _trouble(reply, key, nonce)
    if trouble is not None:
        wrong: Failure = "unauthorized" if trouble.failure == "unauthorized" else "unhealthy"
        return Reading(wrong, detail=f"health check: {trouble.detail}")
    try:
        answer = msgspec.json.decode(reply.body, type=_Health)
    except (ValueError, RecursionError) as error:
        return Reading("unhealthy", detail=f"health check: status {reply.status}, and not the agreed JSON: {error}")
    if answer.success and reply.status == _OK:
        return Reading(signed=signed)
    return Reading("unhealthy", detail=f"health check: the agent reports a failure (status {reply.status})")


def read_target(reply: Reply) -> Reading:
    """Whether the contested application itself answers as it should: any 2xx or 3xx."""
    if reply.status is None:
        return Reading("unhealthy", detail=f"target: {reply.detail}")
    if not 200 <= reply.status < 400:  # noqa: PLR2004 - the classes 2xx and 3xx
        return Reading("unhealthy", detail=f"target: status {reply.status}")
    return Reading(signed=True)  # nobody signs for a target, so it takes nothing from the agent's signatures


def gathered(started: datetime, replies: Iterable[Reply], readings: Iterable[Reading]) -> Evidence:
    """The evidence of a poll: its *replies*, and the *readings* of the same, in order; a failed one is the last."""
    came, read = tuple(replies), tuple(readings)
    failed = read[-1].failure
    claims = [reading for reply, reading in zip(came, read, strict=True) if reply.step == "claim"]
    return Evidence(
        started=started,
        latency_ms=came[0].latency_ms,
        status=came[0].status,
        owners=() if failed else tuple(claim.owner for claim in claims),
        failure=failed,
        signed=failed is None and all(reading.signed for reading in read),
        detail=next((reading.detail for reading in reversed(read) if reading.detail), ""),
        answers=tuple(_kept(reply) for reply in came),
        fingerprint=came[0].fingerprint,
        connected=came[0].connected,
    )


def clean(text: str) -> str:
    """*text* as it is compared and stored: without blanks around it, and without NUL, which PostgreSQL refuses."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").strip()


def _trouble(reply: Reply, key: str | None, nonce: str) -> tuple[Reading | None, bool]:
    """Why an agent's answer can't be believed, or None; and whether it is signed."""
    if reply.status in _REFUSED:
        return Reading("unauthorized", detail=f"the agent refuses the key (status {reply.status})"), False
    if reply.failure is not None or reply.status is None:
        return Reading(reply.failure or "unreachable", detail=reply.detail), False
    if 300 <= reply.status < 400:  # noqa: PLR2004 - the class 3xx
        return Reading("malformed", detail=f"a redirect (status {reply.status}), which is not followed"), False
    # Without a key of ours there is nothing to check a signature with, and an answer counts as unsigned.
    if reply.signature is None or key is None:
        return None, False
    if not hmac.compare_digest(reply.signature.strip().encode(), signature(key, nonce, reply.body).encode()):
        return Reading("unauthorized", detail="the answer's signature is wrong"), False
    return None, True


def _kept(reply: Reply) -> Kept:
    body = clean(reply.body[:KEPT_BYTES].decode("utf-8", "backslashreplace"))
    return Kept(reply.step, reply.status, reply.latency_ms, body)
