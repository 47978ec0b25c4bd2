"""Webhooks without a network: rows of endpoints, and receivers that are called in memory."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any, Final

import msgspec
from klein import Klein
from sqlalchemy import Connection
from treq.testing import RequestTraversalAgent
from twisted.internet import error
from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure
from twisted.web.client import URI
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from zope.interface import implementer

from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing.builders import LONG_AGO
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.events import EVENT_NAMES
from ctfd_twisted.webhooks.tables import endpoints
from ctfd_twisted.webhooks.trace import EgressRefused, Trace

URL: Final = "http://receiver.example/hook"


def an_endpoint(conn: Connection, **columns: Any) -> int:
    """An active endpoint that wants every event; its id."""
    values = {
        "url": URL,
        "events": list(EVENT_NAMES),
        "standard_webhooks": False,
        "state": "active",
        "created": LONG_AGO,
        "failures": 0,
    }
    return insert_row(conn, endpoints, {**values, **columns})


class Received(msgspec.Struct, frozen=True):
    """One request that a receiver was sent; names of headers in lower case."""

    method: str
    uri: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        """The event's name."""
        return self.headers["service-webhook-event"]

    @property
    def id(self) -> str:
        """The delivery's id."""
        return self.headers["service-webhook-id"]


class Receiver:
    """A receiver that validates, and answers events as it is told.

    ``answers`` maps an event to what is done with the request; by default it is answered 200. ``received`` holds every
    request in the order of arrival.
    """

    app = Klein()

    def __init__(self, secret: Callable[[], str], answer: Callable[[Any], Any] = lambda _: b"thank you") -> None:
        self.secret = secret
        self.answer = answer
        self.received: list[Received] = []

    @property
    def events(self) -> list[Received]:
        """The events among what was received."""
        return [one for one in self.received if one.method == "POST"]

    @app.route("/", branch=True, methods=["GET"])
    def validate(self, request: Any) -> bytes:
        """Prove that this receiver knows the shared secret."""
        self._note(request)
        request.setHeader(b"content-type", b"application/json")
        token = request.args[b"token"][0]
        return msgspec.json.encode({"response": hmac.new(self.secret().encode(), token, hashlib.sha256).hexdigest()})

    @app.route("/", branch=True, methods=["POST"])
    def event(self, request: Any) -> Any:
        """Take one event."""
        self._note(request)
        return self.answer(request)

    def _note(self, request: Any) -> None:
        headers = {
            name.decode().lower(): b", ".join(values).decode()
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        self.received.append(Received(request.method.decode(), request.uri.decode(), headers, request.content.read()))


@implementer(IAgent)
class SilentAgent:
    """Never answers; ``asked`` counts the requests, and those that were given up."""

    def __init__(self) -> None:
        self.asked = 0
        self.given_up = 0

    def request(
        self,
        method: bytes,  # noqa: ARG002 - the interface's
        uri: bytes,  # noqa: ARG002 - the interface's
        headers: Headers | None = None,  # noqa: ARG002 - the interface's
        bodyProducer: IBodyProducer | None = None,  # noqa: ARG002, N803 - the interface's
    ) -> Deferred[IResponse]:
        """Wait for ever."""
        self.asked += 1
        return Deferred(self._cancelled)

    def _cancelled(self, _waiting: Deferred[IResponse]) -> None:
        self.given_up += 1


class MemoryReach:
    """Hosts that are resources or agents in memory.

    ``hosts`` maps a name to who answers there; a name that is not in it is unknown, one that maps to None refuses
    connections. ``names`` gives a host other addresses than a public one.
    """

    onion = False

    def __init__(self, **hosts: IAgent | None) -> None:
        self.hosts: dict[str, IAgent | None] = dict(hosts)
        self.names: dict[str, list[str]] = {}
        self.closed = False

    def serve(self, host: str, resource: Any) -> None:
        """Let *resource* answer at *host*."""
        self.hosts[host] = RequestTraversalAgent(resource)

    def agent(self, egress: Egress, trace: Trace, *, alone: bool = False) -> IAgent:  # noqa: ARG002 - the interface's
        """An agent for one request."""
        return _ByHost(self, egress, trace)

    async def addresses(self, host: str) -> list[str]:
        """The addresses of *host*."""
        return self.names.get(host, ["93.184.215.14"] if host in self.hosts else [])

    async def close(self) -> None:
        """Note that nothing more is sent."""
        self.closed = True


@implementer(IAgent)
class _ByHost:
    def __init__(self, reach: MemoryReach, egress: Egress, trace: Trace) -> None:
        self._reach = reach
        self._egress = egress
        self._trace = trace

    def request(
        self,
        method: bytes,
        uri: bytes,
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803 - the interface's
    ) -> Deferred[IResponse]:
        host = URI.fromBytes(uri).host.decode()
        if host not in self._reach.hosts:
            return fail(Failure(error.DNSLookupError(host)))
        for address in self._reach.names.get(host, ()):
            refusal = self._egress.refusal(address)
            if refusal is not None:
                return fail(Failure(EgressRefused(refusal)))
        self._trace.took("resolve", "in memory")
        agent = self._reach.hosts[host]
        if agent is None:
            return fail(Failure(error.ConnectionRefusedError()))
        self._trace.took("connect", "in memory")
        response: Deferred[IResponse] = agent.request(method, uri, headers, bodyProducer)
        return response
