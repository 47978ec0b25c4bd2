"""Asking agents and targets: whatever they do costs one tick at most, and is never raised."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec
from treq import collect
from treq.client import HTTPClient
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse

from ctfd_twisted.http.sending import ReadyBody
from ctfd_twisted.koth.guard import ANY_URL, Guard
from ctfd_twisted.koth.protocol import (
    MOST_BYTES,
    NONCE_HEADER,
    SIGNATURE_HEADER,
    Evidence,
    Reading,
    Reply,
    Step,
    gathered,
    read_claim,
    read_health,
    read_target,
)
from ctfd_twisted.koth.reach import HillLine, Reach
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.trouble import TooMuch, explain, is_cancelled, late
from ctfd_twisted.koth.urls import beside

USER_AGENT: Final = "ctfd-twisted"


class _Request(msgspec.Struct, frozen=True):
    """One request: *pinned* to the hill's agent, with its certificates; else to whom the system's authorities vouch."""

    step: Step
    url: str
    headers: Mapping[str, str]
    pinned: bool = True
    body: bytes | None = None


class HillClient:
    """Asks who holds a hill.

    :param nonce: makes the text that an agent signs its answer over; never the same twice.
    """

    def __init__(self, clock: IReactorTime, reach: Reach, nonce: Callable[[], str] | None = None) -> None:
        self._clock = clock
        self._reach = reach
        self._nonce = nonce or partial(next, _nonces())

    async def poll(self, settings: HillSettings) -> Evidence:
        """Read the owner; with the health gate also the health, the target's answer, and the owner once more."""
        started = datetime.fromtimestamp(self._clock.seconds(), UTC)
        replies: list[Reply] = []
        readings: list[Reading] = []
        steps: tuple[Step, ...] = ("claim",)
        if settings.health_gate:
            steps = ("claim", "health", "target", "claim") if settings.target_url else ("claim", "health", "claim")
        for step in steps:
            reply, reading = await self._ask(step, settings)
            replies.append(reply)
            readings.append(reading)
            if reading.failure is not None:
                break
        return gathered(started, replies, readings)

    async def reset(self, settings: HillSettings, headers: Mapping[str, str], body: bytes) -> str | None:
        """POST *body* to the hill's ``reset_url``, which makes its target pristine; None, or why that failed."""
        url = settings.reset_url or ""
        request = _Request("reset", url, {**headers, "Content-Type": "application/json"}, pinned=False, body=body)
        reply = await self._exchange(request, settings)
        if reply.status is None:
            return reply.detail
        return None if 200 <= reply.status < 300 else f"status {reply.status}"  # noqa: PLR2004 - the class 2xx

    async def _ask(self, step: Step, settings: HillSettings) -> tuple[Reply, Reading]:
        if step == "target":
            reply = await self._exchange(_Request(step, settings.target_url or "", {}, pinned=False), settings)
            return reply, read_target(reply)
        nonce = self._nonce()
        headers = {NONCE_HEADER: nonce, "Accept": "application/json"}
        if settings.api_key is not None:
            headers["Authorization"] = settings.api_key
        if step == "health":
            reply = await self._exchange(_Request(step, beside(settings.url, "healthcheck"), headers), settings)
            return reply, read_health(reply, settings.api_key, nonce)
        reply = await self._exchange(_Request(step, settings.url, headers), settings)
        return reply, read_claim(reply, settings.api_key, nonce)

    async def _exchange(self, request: _Request, settings: HillSettings) -> Reply:
        """One request and its answer, to the last byte, within the hill's timeout."""
        began = self._clock.seconds()
        line = HillLine()
        asking = Deferred.fromCoroutine(self._answer(request, settings, line))
        deadline = self._clock.callLater(settings.seconds, asking.cancel)
        try:
            reply = await asking
        except Exception as error:
            line.cut()
            if not deadline.active():
                failure, detail = late(settings.seconds)
            elif is_cancelled(error):
                raise CancelledError from error  # nobody waits for the answer any more
            else:
                failure, detail = explain(Failure(TooMuch()) if line.too_much else Failure(), heard=line.heard)
            reply = Reply(request.step, 0, failure=failure, detail=detail)
        finally:
            if deadline.active():
                deadline.cancel()
        latency = round((self._clock.seconds() - began) * 1000)
        connected = line.connected or reply.status is not None
        return msgspec.structs.replace(reply, latency_ms=latency, fingerprint=line.fingerprint, connected=connected)

    async def _answer(self, request: _Request, settings: HillSettings, line: HillLine) -> Reply:
        headers = Headers({"User-Agent": [USER_AGENT]})
        for name, value in request.headers.items():
            headers.addRawHeader(name.encode(), value.encode())
        guard = Guard(self._reach.agent(settings, line, pinned=request.pinned), request.url)
        response = await HTTPClient(guard).request(
            "GET" if request.body is None else "POST",
            ANY_URL,
            headers=headers,
            data=None if request.body is None else ReadyBody(request.body),
            allow_redirects=False,
            unbuffered=True,
        )
        if request.step in {"target", "reset"}:
            # The status says it all; the rest is not read.
            line.cut()
            return Reply(request.step, 0, response.code)
        # The agent signs what it says; a proxy that compresses it on the way changes nothing of that.
        content = await _content(response)
        proof = response.headers.getRawHeaders(SIGNATURE_HEADER)
        return Reply(request.step, 0, response.code, content, proof[0] if proof else None)


def _nonces() -> Iterator[str]:
    """Texts that nobody can guess. Many are drawn at once: each draw lets the database's thread go first."""
    while True:
        drawn = secrets.token_bytes(256 * 16)
        for start in range(0, len(drawn), 16):
            yield drawn[start : start + 16].hex()


async def _content(response: IResponse) -> bytes:
    """The body's bytes; raises ``TooMuch`` as soon as there are more than an agent may send."""
    content = bytearray()

    def keep(data: bytes) -> None:
        if len(content) + len(data) > MOST_BYTES:
            raise TooMuch
        content.extend(data)

    await collect(response, keep)
    return bytes(content)
