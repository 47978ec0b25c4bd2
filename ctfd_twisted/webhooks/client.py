"""One exchange with a receiver: at most ten seconds from the name to the answer, no redirects, nothing raised."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web.client import RequestTransmissionFailed, ResponseNeverReceived
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse

from ctfd_twisted.http.sending import ReadyBody
from ctfd_twisted.webhooks.answers import Beginning
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.problems import Problem, no_answer, no_end
from ctfd_twisted.webhooks.reach import Reach
from ctfd_twisted.webhooks.rules import ANSWER, EXCHANGE
from ctfd_twisted.webhooks.trace import Trace, WebhookStep, explain

HeaderLines = tuple[tuple[str, str], ...]

_STATUSES: Final = range(100, 1000)
_PORTS: Final = {"http": 80, "https": 443}


class Exchange(Struct, frozen=True):
    """What an exchange came to: a *status* with the beginning of an answer, or a *problem*.

    *complete* says that *answer* is all of it; an answer whose body was too slow has both. *request_headers* are those
    that were sent, in no particular order.
    """

    request_headers: HeaderLines
    latency_ms: int
    status: int | None = None
    retry_after: str | None = None
    answer: bytes = b""
    complete: bool = False
    problem: Problem | None = None
    steps: tuple[WebhookStep, ...] = ()


class _Request(Struct, frozen=True):
    """What is asked of whom; *alone*: over a connection of its own."""

    method: bytes
    url: str
    headers: HeaderLines
    body: bytes | None
    egress: Egress
    alone: bool


class WebhookClient:
    """Sends requests to receivers.

    :param prefix: what ``User-Agent`` is and the platform's own headers begin with.
    """

    def __init__(self, clock: IReactorTime, reach: Reach, prefix: str) -> None:
        self._clock = clock
        self.reach = reach
        self.prefix = prefix

    async def get(self, url: str, headers: HeaderLines, egress: Egress) -> Exchange:
        """GET *url* over a connection of its own."""
        return await self._exchange(_Request(b"GET", url, headers, None, egress, alone=True))

    async def post(
        self, url: str, headers: HeaderLines, body: bytes, egress: Egress, *, alone: bool = False
    ) -> Exchange:
        """POST *body* to *url*."""
        return await self._exchange(_Request(b"POST", url, headers, body, egress, alone))

    async def _exchange(self, request: _Request) -> Exchange:
        headers = (("Host", host_header(request.url)), *request.headers)
        # Twisted writes this one itself; for those who look at what was sent it belongs with the others.
        length = () if request.body is None else (("Content-Length", str(len(request.body))),)
        sent = (*headers, *length)
        trace = Trace(self._clock)
        asking = Deferred.fromCoroutine(self._answered(request, headers, trace))
        tls = request.url.lower().startswith("https:")
        deadline = self._clock.callLater(EXCHANGE, asking.cancel)
        try:
            response = await asking
        except Exception:  # noqa: BLE001 - whatever a receiver does is an outcome, told in words
            problem = explain(Failure()) if deadline.active() else no_answer(EXCHANGE)
            trace.failed(problem, tls=tls)
            return Exchange(sent, trace.ms, problem=problem, steps=tuple(trace.steps))
        finally:
            if deadline.active():
                deadline.cancel()
        if tls:
            trace.took("tls", "the certificate is for this host, by an authority that this server trusts")
        trace.took("request", f"sent {len(request.body or b'')} bytes")
        return await self._read(response, sent, trace)

    async def _answered(self, request: _Request, headers: HeaderLines, trace: Trace) -> IResponse:
        """The response's status and headers.

        A connection that was kept may be closed by its receiver just as it is used again. Then nobody has failed, and
        the request is sent anew; should it have arrived before, its id shows that it is the same.
        """
        lines = Headers()
        for name, value in headers:
            lines.addRawHeader(name.encode(), value.encode())
        while True:
            agent = self.reach.agent(request.egress, trace, alone=request.alone)
            body = None if request.body is None else ReadyBody(request.body)
            try:
                # Every turn takes one kept connection out of the pool, and a new one that fails ends the loop.
                return await agent.request(request.method, request.url.encode(), lines, body)
            except (RequestTransmissionFailed, ResponseNeverReceived) as error:
                if not trace.reused or any(reason.check(CancelledError) for reason in error.reasons):
                    raise

    async def _read(self, response: IResponse, sent: HeaderLines, trace: Trace) -> Exchange:
        beginning = Beginning(ANSWER, _header(response, b"content-encoding"))
        # The status has come in time, and that is what counts; the body has the rest of the ten seconds.
        deadline = self._clock.callLater(max(EXCHANGE - trace.seconds, 0.0), beginning.done.cancel)
        response.deliverBody(beginning)
        complete = await beginning.done
        late: Problem | None = no_end(EXCHANGE)
        if deadline.active():
            deadline.cancel()
            late = None
        if response.code not in _STATUSES:
            problem = Problem("protocol", f"What was answered is not HTTP: status {str(response.code)[:20]}")
            trace.failed(problem, tls=False)
            return Exchange(sent, trace.ms, problem=problem, steps=tuple(trace.steps))
        trace.took("answer", f"status {response.code}")
        return Exchange(
            sent,
            trace.ms,
            status=response.code,
            retry_after=_header(response, b"retry-after"),
            answer=beginning.read,
            complete=complete,
            problem=late,
            steps=tuple(trace.steps),
        )


def host_header(url: str) -> str:
    """The value of ``Host`` for *url*: its host, with the port where that is not the scheme's own."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return host if parts.port in {None, _PORTS[parts.scheme]} else f"{host}:{parts.port}"


def _header(response: IResponse, name: bytes) -> str | None:
    values = response.headers.getRawHeaders(name)
    return values[0].decode("latin-1") if values else None
