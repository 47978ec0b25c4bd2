"""A server that speaks like MajorLeagueCyber: in memory for one process, or over a socket as a process of its own.

It is a whole authorization server: a page on which people say who they are, codes that work once and for the client
they were made for, tokens, and the user API. ``faults`` makes its endpoints ill, each in a way of its own.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from klein import Klein
from treq.testing import RequestTraversalAgent
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.python.failure import Failure
from twisted.web.client import URI
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from twisted.web.server import Site
from zope.interface import implementer

from ctfd_twisted.http.outgoing import Line

BASE: Final = "http://127.0.0.1"
CLIENT: Final = {"client_id": "platform", "client_secret": "a secret that nobody else knows"}


def a_person(person_id: int, name: str, team: tuple[int, str] | None = None, **more: Any) -> dict[str, Any]:
    """What the user API tells of somebody; *team* is an id and a name."""
    told = None if team is None else {"id": team[0], "name": team[1]}
    return {"id": person_id, "name": name, "email": f"{name}@example.org", "team": told, **more}


def endpoints(base: str = BASE) -> dict[str, str]:
    """The competition's settings that lead to a provider at *base*."""
    return {
        "oauth_client_id": CLIENT["client_id"],
        "oauth_client_secret": CLIENT["client_secret"],
        "oauth_authorization_endpoint": f"{base}/oauth/authorize",
        "oauth_token_endpoint": f"{base}/oauth/token",
        "oauth_api_endpoint": f"{base}/user",
    }


def _endless(request: Any) -> Deferred[bytes]:
    from twisted.internet import reactor  # noqa: PLC0415 - only where there is a socket

    clock: Any = reactor

    def more() -> None:
        if not gone:
            request.write(b" " * 16_384)
            clock.callLater(0, more)

    gone: list[object] = []
    request.notifyFinish().addBoth(gone.append)
    more()
    return Deferred()


def _status(number: int) -> Callable[[Any], bytes]:
    def answer(request: Any) -> bytes:
        request.setResponseCode(number)
        return b'{"error": "server_error", "access_token": "not to be used", "id": 1, "name": "n", "email": "e@x.org"}'

    return answer


def _elsewhere(request: Any) -> bytes:
    request.setResponseCode(302)
    request.setHeader(b"location", b"/elsewhere")
    return b""


#: What may be wrong with an endpoint.
FAULTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "500": _status(500),
    "201": _status(201),
    "malformed": lambda _: b'{"access_token": ',
    "array": lambda _: b"[]",
    "nothing": lambda _: b"{}",
    "large": lambda _: b'{"access_token": "' + b"x" * 70_000 + b'"}',
    "endless": _endless,
    "silent": lambda _: Deferred(),
    "elsewhere": _elsewhere,
}


class Provider:
    """The server. *callback* is where it sends people back to, as its owner has registered it."""

    app = Klein()

    def __init__(self, callback: str) -> None:
        self.callback = callback
        #: Who may say that it is they, by their names.
        self.people: dict[str, dict[str, Any]] = {}
        #: What is wrong with the endpoints ``token``, ``user`` and ``elsewhere``: keys of :data:`FAULTS`.
        self.faults: dict[str, str] = {}
        #: The forms that the token endpoint was sent, and the headers that the user endpoint was.
        self.exchanges: list[dict[str, str]] = []
        self.bearers: list[str] = []
        self._codes: dict[str, str] = {}
        self._tokens: dict[str, str] = {}

    def add(self, *args: Any, **more: Any) -> None:
        """Let :func:`a_person` be known here."""
        person = a_person(*args, **more)
        self.people[person["name"]] = person

    def grant(self, name: str) -> str:
        """A code for somebody, as if they had consented."""
        code = secrets.token_urlsafe(16)
        self._codes[code] = name
        return code

    @app.route("/oauth/authorize", methods=["GET"])
    def authorize(self, request: Any) -> bytes:
        """Ask who is there, and whether they consent."""
        asked = {key.decode(): values[0].decode() for key, values in request.args.items()}
        if (asked.get("client_id"), asked.get("response_type")) != (CLIENT["client_id"], "code"):
            request.setResponseCode(400)
            return b"unknown client"
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        hidden = f'<input type="hidden" name="state" value="{escape(asked.get("state", ""))}">'
        buttons = "".join(f'<button name="who" value="{escape(name)}">{escape(name)}</button>' for name in self.people)
        deny = '<button name="who" value="">Deny</button>'
        page = f'<h1>Who are you?</h1><form method="post" action="/oauth/consent">{hidden}{buttons}{deny}</form>'
        return f'<!doctype html><title>League</title><link rel="icon" href="data:,">{page}'.encode()

    @app.route("/oauth/consent", methods=["POST"])
    def consent(self, request: Any) -> bytes:
        """Send whoever has chosen back, with a code or with why there is none."""
        state, who = (request.args[key][0].decode() for key in (b"state", b"who"))
        told = {"code": self.grant(who)} if who else {"error": "access_denied"}
        request.setResponseCode(303)
        request.setHeader(b"location", f"{self.callback}?{urlencode({**told, 'state': state})}".encode())
        return b""

    @app.route("/oauth/token", methods=["POST"])
    def token(self, request: Any) -> Any:
        """Give a token for a code, once, to the client that shows its secret."""
        form = {key.decode(): values[0].decode() for key, values in request.args.items()}
        self.exchanges.append(form)
        if "token" in self.faults:
            return FAULTS[self.faults["token"]](request)
        shown = {key: form.get(key) for key in CLIENT}
        name = self._codes.pop(form.get("code", ""), None)
        if shown != CLIENT or form.get("grant_type") != "authorization_code" or name is None:
            request.setResponseCode(400)
            return b'{"error": "invalid_grant"}'
        token = secrets.token_urlsafe(16)
        self._tokens[token] = name
        return msgspec.json.encode({"access_token": token, "token_type": "Bearer"})

    @app.route("/user", methods=["GET"])
    def user(self, request: Any) -> Any:
        """Tell about the owner of a token."""
        bearer = (request.getHeader(b"authorization") or b"").decode()
        self.bearers.append(bearer)
        if "user" in self.faults:
            return FAULTS[self.faults["user"]](request)
        name = self._tokens.get(bearer.removeprefix("Bearer "))
        if name is None:
            request.setResponseCode(401)
            return b"{}"
        return msgspec.json.encode(self.people[name])

    @app.route("/elsewhere", methods=["GET", "POST"])
    def elsewhere(self, request: Any) -> bytes:
        """Note who followed a redirect."""
        self.exchanges.append({"elsewhere": request.method.decode()})
        return b"{}"

    @app.route("/control", methods=["POST"])
    def control(self, request: Any) -> bytes:
        """Let the test that runs this process set attributes, and tell it of the exchanges so far."""
        for name, value in msgspec.json.decode(request.content.read()).items():
            setattr(self, name, value)
        return msgspec.json.encode({"exchanges": self.exchanges, "bearers": self.bearers})


@implementer(IAgent)
class MemoryProvider(Provider):
    """A provider that a platform in memory reaches without a socket; ``away`` refuses connections."""

    def __init__(self, callback: str = "http://ctf.example/redirect") -> None:
        super().__init__(callback)
        self.away = False
        self._agent = RequestTraversalAgent(self.app.resource())

    def agent(self, line: Line, seconds: float) -> IAgent:  # noqa: ARG002 - the interface's
        """An agent for one request."""
        return self

    def request(
        self,
        method: bytes,
        uri: bytes,
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803 - the interface's
    ) -> Deferred[IResponse]:
        """Answer, where *uri* leads here."""
        if self.away or URI.fromBytes(uri).host != b"127.0.0.1":
            return fail(Failure(Refused()))
        asking: Deferred[IResponse] = self._agent.request(method, uri, headers, bodyProducer)
        return asking


def main() -> None:
    """Run a provider on a free port of this machine until the process is ended; its address is printed."""
    from twisted.internet import reactor  # noqa: PLC0415 - a program of its own

    running: Any = reactor
    port = running.listenTCP(0, Site(Provider(sys.argv[1]).app.resource()), interface="127.0.0.1")
    sys.stdout.write(f"Provider at {BASE}:{port.getHost().port}\n")
    sys.stdout.flush()
    running.run()


if __name__ == "__main__":
    main()
