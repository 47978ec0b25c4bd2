"""A King-of-the-Hill agent that says what a test wants, in memory or behind a real port.

``tests/contract/test_agents.py`` holds it to what the real agent does, so that what is tested against it is tested
against the real one. :class:`FakeAgents` gives it to a ``HillClient`` by its host's name, without a socket.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from typing import Any, Final

from treq.testing import RequestTraversalAgent
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.error import DNSLookupError
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from ctfd_twisted.koth.protocol import signature
from ctfd_twisted.koth.reach import HillLine
from ctfd_twisted.koth.settings import HillSettings

_JSON: Final = b"application/json"
_TEXT: Final = b"text/plain; charset=utf-8"


class FakeAgent(Resource):
    """Answers ``/status`` and ``/healthcheck`` as the real agent does; also ``/`` (the target) and ``POST /reset``.

    :ivar owner: who holds the hill; None where the agent can't tell.
    :ivar key: the API key that a request must carry, and that answers are signed with where ``signs`` is true.
    :ivar healthy: whether the health check succeeds.
    :ivar target_status: what the target answers.
    :ivar asked: the paths asked for, in order.
    :ivar hook: called with each path before it is answered, so that a test can change the owner within a tick.
    :ivar hangs: requests are held back until :meth:`let_go`.
    :ivar raw: what ``/status`` answers instead of the owner, as status, body and further headers.
    :ivar resets: the bodies of the resets asked for; each empties the owner where ``reset_works``.
    """

    isLeaf = True

    def __init__(self, owner: str | None = "", *, key: str | None = None, signs: bool = True) -> None:
        super().__init__()
        self.owner = owner
        self.key = key
        self.signs = signs
        self.healthy = True
        self.target_status = 200
        self.asked: list[str] = []
        self.hook: Callable[[str], object] = lambda _: None
        self.hangs = False
        self.raw: tuple[int, bytes, dict[str, str]] | None = None
        self.resets: list[tuple[dict[str, str], bytes]] = []
        self.reset_works = True
        self._held: list[Request] = []
        #: Called by :meth:`let_go`; who asks in memory has its bytes moved by hand.
        self.deliver: list[Callable[[], None]] = []

    def render(self, request: Request) -> bytes | int:
        """Answer, or hold the request back."""
        path = request.path.decode()
        self.asked.append(path)
        self.hook(path)
        if self.hangs:
            self._held.append(request)
            # Whoever gives up is not answered any more.
            request.notifyFinish().addErrback(lambda _: self._held.remove(request) if request in self._held else None)
            return NOT_DONE_YET
        return self._answer(request)

    def let_go(self) -> None:
        """Answer what was held back, and hold nothing back any more."""
        self.hangs = False
        held, self._held = self._held, []
        for request in held:
            request.write(self._answer(request))
            request.finish()
        deliver, self.deliver = self.deliver, []
        for move in deliver:
            move()

    def _answer(self, request: Request) -> bytes:
        path = request.path
        if path == b"/":
            return _say(request, self.target_status, b"the target", _TEXT)
        if path == b"/reset" and request.method == b"POST":
            return self._reset(request)
        if self.key is not None and not _carries(request, self.key):
            return _say(request, 401, b"Unauthorized", _TEXT)
        if path not in {b"/status", b"/healthcheck"}:
            return self._signed(request, _say(request, 404, b"Not Found", _TEXT))
        if request.method not in {b"GET", b"HEAD"}:
            request.setHeader(b"Allow", b"GET, HEAD")
            return self._signed(request, _say(request, 405, b"Method Not Allowed", _TEXT))
        if path == b"/healthcheck":
            data = {"stdout": "", "stderr": "", "status": 0 if self.healthy else 1}
            return self._signed(request, _envelope(request, data, success=self.healthy))
        if self.raw is not None:
            status, body, headers = self.raw
            for name, value in headers.items():
                request.setHeader(name.encode(), value.encode())
            return _say(request, status, body, _JSON)
        data = {"identifier": (self.owner or "").strip()}
        return self._signed(request, _envelope(request, data, success=self.owner is not None))

    def _reset(self, request: Request) -> bytes:
        content = request.content
        headers = {name.decode(): values[0].decode() for name, values in request.requestHeaders.getAllRawHeaders()}
        self.resets.append((headers, b"" if content is None else content.read()))
        if not self.reset_works:
            return _say(request, 500, b"no", _TEXT)
        self.owner = ""
        return _say(request, 200, b"done", _TEXT)

    def _signed(self, request: Request, body: bytes) -> bytes:
        nonce = request.getHeader(b"KoTH-Nonce")
        if self.key is not None and self.signs and nonce is not None:
            request.setHeader(b"KoTH-Signature", signature(self.key, nonce.decode("latin-1"), body).encode())
        return body


def _carries(request: Request, key: str) -> bool:
    given = request.getHeader(b"Authorization") or b""
    wanted = key.encode()
    scheme, _, credentials = given.partition(b" ")
    bare = hmac.compare_digest(given, wanted)
    return bare or (scheme.lower() == b"token" and hmac.compare_digest(credentials.strip(), wanted))


def _envelope(request: Request, data: dict[str, Any], *, success: bool) -> bytes:
    text = json.dumps({"success": success, "data": data}, ensure_ascii=False, separators=(",", ":"))
    return _say(request, 200 if success else 500, text.encode(), _JSON)


def _say(request: Request, status: int, body: bytes, content_type: bytes) -> bytes:
    request.setResponseCode(status)
    request.setHeader(b"Content-Type", content_type)
    request.setHeader(b"Content-Length", b"%d" % len(body))
    return body


class FakeAgents:
    """The way to fake agents by the names of their hosts, in memory.

    A host that nobody has added does not resolve; one in ``refusing`` refuses the connection.
    """

    def __init__(self, **agents: FakeAgent) -> None:
        self.agents = agents
        self.refusing: set[str] = set()

    def agent(self, settings: HillSettings, line: HillLine, *, pinned: bool) -> IAgent:
        """The agent for one request; certificates mean nothing in memory."""
        del settings, line, pinned
        return _Switchboard(self)


@implementer(IAgent)
class _Switchboard:
    """Hands a request to the fake agent at its host."""

    def __init__(self, reach: FakeAgents) -> None:
        self._reach = reach

    def request(
        self,
        method: bytes,
        uri: bytes,
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803 - Twisted's name
    ) -> Deferred[IResponse]:
        """Ask, in memory."""
        host = uri.split(b"/")[2].split(b":")[0].decode()
        if host in self._reach.refusing:
            return fail(Refused(f"{host} refuses"))
        agent = self._reach.agents.get(host)
        if agent is None:
            return fail(DNSLookupError(f"{host} is nobody's name"))
        traversal = RequestTraversalAgent(agent)
        asking: Deferred[IResponse] = traversal.request(method, uri, headers, bodyProducer)
        traversal.flush()
        if agent.hangs:
            agent.deliver.append(traversal.flush)
        return asking
