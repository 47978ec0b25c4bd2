"""What happens to every request before its handler, and to every answer after it.

In this order: host, set up?, who is asking (session, then access token), banned?, forced password change?, CSRF, rate
limit, gates, handler. What can be answered from memory is: a warm request for shared data touches no thread.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from inspect import isawaitable
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import NO_CONTENT, NOT_MODIFIED
from twisted.web.http_headers import Headers
from twisted.web.server import Request

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import DomainError, Forbidden, Malformed, NotFound, Unauthorized
from ctfd_twisted.http.address import Network, client_address, is_trusted, neighbourhood
from ctfd_twisted.http.answers import JSON, Answer, RedirectTo, StreamedAnswer, json_answer, redirect
from ctfd_twisted.http.bodies import INTEGERS
from ctfd_twisted.http.call import Call, Front
from ctfd_twisted.http.callers import MISS, STALE, Callers, Tracker
from ctfd_twisted.http.cookies import COOKIE
from ctfd_twisted.http.errors import UNAUTHORIZED, NotFoundInApi, error_answer, error_text
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.hosts import is_host, is_served
from ctfd_twisted.http.limits import SHARED, RateLimits
from ctfd_twisted.http.routes import BY_SESSION, Handler, Limit, Route

#: ``answered(route, status, began)`` counts an answer; *began* is of ``time.perf_counter``.
Answered = Callable[[Route, int, float], None]
#: The status in its count of a request whose client did not wait for the answer; nobody is sent it.
HUNG_UP: Final = 499
SAFE: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"TRACE"})
_BANNED = "You have been banned from this CTF"
_TEAM_BANNED = "Your team has been banned from this CTF"

#: On every answer.
_ALWAYS: Final = (
    (b"cross-origin-opener-policy", b"same-origin-allow-popups"),
    (b"x-content-type-options", b"nosniff"),
)
#: On every page as well, which brings its own Content-Security-Policy with its nonce. JSON is not framed and has no
#: links, and a header costs a fiftieth of a warm answer.
_ON_PAGES: Final = (
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
)


class ErrorPages(Protocol):
    """Renders errors for people; the web interface provides it."""

    def error(self, call: Call | None, status: int, message: str) -> Answer:
        """The page for *status* that says *message*; without a *call* nothing is known about the visitor."""


class Policy(Protocol):
    """What the deployment decides about requests; ``settings.Settings`` provides it."""

    @property
    def malformed_payload_status(self) -> int: ...  # noqa: D102 - see settings.py
    @property
    def trusted_proxies(self) -> Sequence[Network]: ...  # noqa: D102 - see settings.py
    @property
    def trusted_hosts(self) -> Sequence[str]: ...  # noqa: D102 - see settings.py


class Pipeline:
    """Takes a request through to its answer."""

    log = Logger()

    def __init__(
        self,
        *,
        front: Front,
        policy: Policy,
        competition: Snapshot[Competition],
        callers: Callers,
        tracker: Tracker,
        pages: ErrorPages,
        now: Callable[[], datetime],
        look_around: Callable[[], None],
        password_change: Callable[[Call], str | None],
    ) -> None:
        """Put the parts together.

        *look_around* notices other programs' writes; *password_change* gives the path to which a player who must change
        their password is sent, or None where the request may go on.
        """
        self._front = front
        self._policy = policy
        self._competition = competition
        self._callers = callers
        self._tracker = tracker
        self._pages = pages
        self._now = now
        self._look_around = look_around
        self._password_change = password_change
        #: Is told of each answer, where somebody counts them.
        self.answered: Answered | None = None
        self._limits = RateLimits()

    async def handle(self, request: Request, route: Route, handler: Handler, parameters: dict[str, Any]) -> bytes:
        """Answer *request* by *handler*; the headers are set on the request, the body is returned."""
        began = 0.0 if self.answered is None else time.perf_counter()
        call = self._call(request)
        call.reads = route.reads
        try:
            answer = await self._answer(call, route, handler, parameters)
        except RedirectTo as away:
            answer = redirect(away.location)
        except DomainError as error:
            if isinstance(error, Malformed):
                self.log.info("{method} {path}: malformed body: {reason}", **_named(request), reason=error.reason)
            answer = self._error(call, route, error)
        except Exception as error:  # noqa: BLE001 - a defect of ours: logged with a reference, told without details
            channel: Any = request.channel
            if channel is None and isinstance(error, CancelledError):
                if self.answered is not None:
                    self.answered(route, HUNG_UP, began)
                return b""  # who asked has hung up, so Klein has ended the handler
            answer = self._defect(call, request, Failure())
        body = self._send(call, answer)
        if self.answered is not None:
            self.answered(route, answer.status, began)
        if isinstance(answer, StreamedAnswer):
            await _stream(request, answer)
        return body

    def _call(self, request: Request) -> Call:
        peer = getattr(request.getClientAddress(), "host", "") or ""
        trusted = self._policy.trusted_proxies
        if not trusted:
            return Call(request, self._front, self._now(), peer, secure=bool(request.isSecure()))
        headers = request.requestHeaders
        forwarded = [value.decode("latin-1") for value in headers.getRawHeaders(b"x-forwarded-for", [])]
        secure = bool(request.isSecure())
        # A proxy on a Unix socket has no address; whoever may connect there was chosen by the file's permissions.
        if peer == "" or is_trusted(peer, trusted):
            secure = (request.getHeader(b"x-forwarded-proto") or b"").split(b",")[-1].strip() == b"https" or secure
            host = (request.getHeader(b"x-forwarded-host") or b"").split(b",")[-1].strip()
            if is_host(host):
                headers.setRawHeaders(b"host", [host])
            if peer == "" and forwarded:
                peer = forwarded[-1].rsplit(",", 1)[-1].strip()
        return Call(request, self._front, self._now(), client_address(peer, forwarded, trusted), secure=secure)

    async def _answer(self, call: Call, route: Route, handler: Handler, parameters: dict[str, Any]) -> Answer:
        self._look_around()
        competition = self._competition.ready()
        if competition is None and not route.always:
            competition = await self._competition.get()
        if competition is not None:
            call.competition = competition
        hosts = self._policy.trusted_hosts
        if hosts and not is_served(call.request.getHeader(b"host") or b"", hosts):
            return Answer(b"Bad Request: this host name is not served here\n", 400, "text/plain; charset=utf-8")
        if not (call.competition.is_set_up or route.before_setup or route.always):
            return redirect(call.url("/setup"))
        if not route.always:
            await self._find_caller(call, route)
            self._keep_out(call)
            away = self._password_change(call) if call.player is not None and call.player.change_password else None
            if away is not None:
                return redirect(away)
        if not (call.request.method in SAFE or call.by_token or route.last_resort):
            self._check_nonce(call)
        self._check(call, route, parameters)
        answer = handler(call, **parameters)
        return await answer if isawaitable(answer) else answer

    async def lets_in(self, request: Request, route: Route) -> bool:
        """Whether the gates of *route* let *request* in, of which the body is still to come, with its nonce."""
        call = self._call(request)
        call.competition = await self._competition.get()
        try:
            await self._find_caller(call, route)
            self._keep_out(call)
            for gate in route.gates:
                gate(call)
        except (DomainError, RedirectTo):
            return False
        return True

    def _check(self, call: Call, route: Route, parameters: dict[str, Any]) -> None:
        """Ask what the route names: its gates, its limit, and numbers that something may have."""
        for gate in route.gates:
            gate(call)
        if route.limit is not None:
            self._count(call, route, route.limit)
        if any(isinstance(value, int) and value not in INTEGERS for value in parameters.values()):
            raise NotFound  # no database has such an id, and some would rather fail than say so

    async def _find_caller(self, call: Call, route: Route) -> None:
        request = call.request
        cookie = request.getCookie(COOKIE)
        if cookie is not None:
            call.sid = self._front.cookies.read(cookie)
        authorization = request.getHeader(b"authorization")
        # CTFd looks at the header of JSON requests alone; a read of the API has no payload and needs no type.
        if authorization and (call.is_json or route.is_api):
            await self._find_by_token(call, authorization)
        elif call.sid is not None:
            await self._find_by_session(call, call.sid, route)
        if call.player is not None:
            writes = request.method not in SAFE
            self._tracker.saw(call.player, call.address, call.now, writes=writes)

    async def _find_by_session(self, call: Call, sid: str, route: Route) -> None:
        found = self._callers.ready_session(sid, call.now)
        player = await self._callers.session(sid, call.now) if found is MISS else found
        if player is STALE:
            if route.gates == (ANYONE,) and call.request.method in SAFE and not (route.is_api or call.is_json):
                # The login page, the way out and a link to a new password are for visitors, too.
                call.end_session()
                return
            raise self._ended(call)
        call.player = player

    def _ended(self, call: Call) -> Exception:
        """What the session gets whose player's password was changed elsewhere; the cookie goes with the answer."""
        call.end_session()
        return Unauthorized(UNAUTHORIZED) if call.is_json else RedirectTo(call.with_next("/login"))

    async def _find_by_token(self, call: Call, authorization: bytes) -> None:
        _, _, value = authorization.decode("latin-1").partition(" ")
        if not value or " " in value:
            raise Unauthorized("Invalid authorization header")
        caller = self._callers.ready_token(value, call.now)
        if caller is MISS:
            caller = await self._callers.token(value, call.now)
        call.player = caller.player
        call.by_token = True
        # A client with a cookie jar sends both from now on; the cookie is good while the token is.
        if call.sid != caller.sid:
            call.start_session(caller.sid)

    def _count(self, call: Call, route: Route, limit: Limit) -> None:
        """Count against the account at this address, and against the address as a wide budget: many share one."""
        endpoint, seconds = f"{route.method} {route.path}", call.now.timestamp()
        there = neighbourhood(call.address)
        if call.player is not None:
            who: str | None = str(call.player.id)
        else:
            who = call.sid if limit.by == BY_SESSION else call.form(limit.by) if limit.by else None
        if who:
            self._limits.count((endpoint, there, who.strip().lower()), limit.requests, limit.seconds, seconds)
        wide = call.competition.integer("rate_limit_shared_address", SHARED) if who else 1
        self._limits.count((endpoint, there), limit.requests * max(1, wide), limit.seconds, seconds)

    def _keep_out(self, call: Call) -> None:
        player = call.player
        if player is not None and (player.banned or player.team_banned):
            raise _Banned(_BANNED if player.banned else _TEAM_BANNED)

    def _check_nonce(self, call: Call) -> None:
        shown = call.request.getHeader(b"csrf-token") if call.is_json else (call.form("nonce") or "").encode()
        if call.sid is None or not shown or not hmac.compare_digest(shown, call.nonce.encode()):
            raise Forbidden

    def _error(self, call: Call, route: Route, error: DomainError) -> Answer:
        if isinstance(error, _Banned):
            return self._pages.error(call, 403, error_text(error))
        answer = error_answer(error, self._policy.malformed_payload_status)
        in_api = route.is_api or isinstance(error, NotFoundInApi)
        if in_api or (isinstance(error, Unauthorized) and call.is_json):
            return answer
        page = self._pages.error(call, answer.status, error_text(error))
        return Answer(page.body, page.status, page.content_type, (*page.headers, *answer.headers))

    def _defect(self, call: Call, request: Request, failure: Failure) -> Answer:
        reference = f"{call.now:%H%M%S}-{secrets.token_hex(3)}"
        self.log.failure(
            "defect {reference} at {request[method]} {request[path]}",
            failure,
            reference=reference,
            request=_named(request),
        )
        if call.route_path.startswith("/api/v1/"):
            return json_answer({"message": "Internal Server Error", "reference": reference}, 500)
        return self._pages.error(None, 500, f"An Internal Server Error has occurred (reference {reference})")

    def _send(self, call: Call, answer: Answer) -> bytes:
        request = call.request
        if answer.status != 200:  # noqa: PLR2004 - the status that a request has anyway
            request.setResponseCode(answer.status)
        headers = request.responseHeaders
        # Twisted looks through each header for ends of lines. For these that was done once, which is noticed: there
        # are as many of them as of all others.
        raw = headers._rawHeaders  # noqa: SLF001
        for name, value in _clean(answer.content_type):
            raw[name] = [value]
        # The length of 304 would be that of the body that is not sent, and 204 may have none.
        if answer.status not in {NOT_MODIFIED, NO_CONTENT}:
            raw[_LENGTH] = [b"%d" % _length(answer)]
        for name, value in answer.headers:
            headers.addRawHeader(name, value)
        if call.cookie is not None:
            headers.addRawHeader(b"set-cookie", call.cookie)
        return answer.body


@lru_cache(maxsize=64)
def _clean(content_type: str) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of every answer of this type, named as Twisted names them, without the length."""
    headers = Headers()
    for name, value in _ALWAYS if content_type == JSON else (*_ALWAYS, *_ON_PAGES):
        headers.addRawHeader(name, value)
    headers.addRawHeader(b"content-type", content_type.encode("ascii"))
    return tuple((name, values[0]) for name, values in headers.getAllRawHeaders())


(_LENGTH,) = (name for name, _ in Headers({b"content-length": [b"0"]}).getAllRawHeaders())


def _length(answer: Answer) -> int:
    return answer.length if isinstance(answer, StreamedAnswer) else len(answer.body)


async def _stream(request: Request, answer: StreamedAnswer) -> None:
    if request.method == b"HEAD":
        answer.drop()
    else:
        await answer.send(request)


class _Banned(Forbidden):
    """The caller, or their team, is banned: an HTML page whatever was asked for."""


def _named(request: Request) -> dict[str, str]:
    return {
        "method": request.method.decode("latin-1"),
        "path": request.path.decode("latin-1"),
    }
