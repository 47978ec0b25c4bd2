"""Asking agents and targets: whatever they do costs one tick at most, and is never raised."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import IConsumer, IReactorTime
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import IBodyProducer, IResponse
from zope.interface import implementer

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
from ctfd_twisted.koth.reach import Line, Reach
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

    def __init__(
        self, clock: IReactorTime, reach: Reach, nonce: Callable[[], str] = lambda: secrets.token_hex(16)
    ) -> None:
        self._clock = clock
        self._reach = reach
        self._nonce = nonce

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
        line = Line()
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

    async def _answer(self, request: _Request, settings: HillSettings, line: Line) -> Reply:
        headers = Headers({"User-Agent": [USER_AGENT]})
        for name, value in request.headers.items():
            headers.addRawHeader(name.encode(), value.encode())
        agent = self._reach.agent(settings, line, pinned=request.pinned)
        method = b"GET" if request.body is None else b"POST"
        body = None if request.body is None else _Body(request.body)
        response: IResponse = await agent.request(method, request.url.encode(), headers, body)
        if request.step in {"target", "reset"}:
            # The status says it all; the rest is not read.
            line.cut()
            return Reply(request.step, 0, response.code)
        content = await _content(response, line)
        # The raw bytes are what is signed, so nothing is decoded here, and a compressed answer is none of the agreed.
        proof = response.headers.getRawHeaders(SIGNATURE_HEADER)
        return Reply(request.step, 0, response.code, content, proof[0] if proof else None)


def _content(response: IResponse, line: Line) -> Deferred[bytes]:
    """The body's bytes; fails with ``TooMuch`` as soon as there are more than an agent may send."""
    reader = _Reader(line)
    response.deliverBody(reader)
    return reader.done


class _Reader(Protocol):
    """Collects a body while it is short enough."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._parts: list[bytes] = []
        self._length = 0
        self.done: Deferred[bytes] = Deferred(lambda _: line.cut())

    def dataReceived(self, data: bytes) -> None:
        """Keep *data*, or end it all."""
        self._length += len(data)
        if self._length <= MOST_BYTES:
            self._parts.append(data)
        elif not self.done.called:
            self._parts.clear()
            self.done.errback(TooMuch())
            self._line.cut()

    def connectionLost(self, reason: Failure = ConnectionAborted) -> None:  # type: ignore[assignment]
        """The body is complete, or never will be."""
        if self.done.called:
            return
        # Without an announced length an answer ends where its connection does.
        if reason.check(ResponseDone, PotentialDataLoss):
            self.done.callback(b"".join(self._parts))
        else:
            self.done.errback(reason)


@implementer(IBodyProducer)
class _Body:
    """A short body, written at once."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.length = len(body)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        """Write all of it."""
        consumer.write(self._body)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Nothing is left to pause."""

    def resumeProducing(self) -> None:
        """Nothing is left to resume."""

    def stopProducing(self) -> None:
        """Nothing is left to stop."""
