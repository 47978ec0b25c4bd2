"""The Klein application out of tables of routes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import cache
from typing import Any, Final, Protocol

from klein import Klein
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import NO_BODY_CODES
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request
from twisted.web.util import redirectTo
from werkzeug.exceptions import HTTPException

from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.at_once import begun
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.errors import NotFoundInApi
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.hosts import is_host
from ctfd_twisted.http.pipeline import Pipeline
from ctfd_twisted.http.routes import Handler, Route, Routes

OTHERS: Final = "/<path:path>"
#: Of so many methods and paths at most it is remembered which route takes them.
REMEMBERED: Final = 4096
#: A longer one is not, so that nobody can fill the memory with paths that have room for anything.
LONGEST: Final = 256


_log = Logger()
_NOWHERE: Final = Route("GET", OTHERS, (ANYONE,), "nowhere", last_resort=True)


class HasRoutes(Protocol):
    """A class of handlers."""

    routes: Routes


class PlatformSite:
    """All routes in one Klein application."""

    def __init__(self, pipeline: Pipeline, apis: Iterable[HasRoutes], fallback: Callable[[Call, str], Any]) -> None:
        """*fallback* answers GET of a path that no route has: the competition's own pages."""
        self._pipeline = pipeline
        self._fallback = fallback
        self._handlers: dict[tuple[str, str], tuple[Route, Handler]] = {
            (route.method, route.path): (route, handler) for api in apis for route, handler in api.routes.of(api)
        }
        self.known: frozenset[tuple[str, str]] = frozenset(self._handlers)
        for path in ("/", OTHERS):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                last_resort = Route(method, path, (ANYONE,), "others", last_resort=True)
                self._handlers.setdefault((method, path), (last_resort, self._others))
        self.app = _application(tuple(self._handlers)).__get__(self, PlatformSite)
        self._urls = self.app.url_map.bind("localhost")
        self._remembered: dict[tuple[bytes, bytes], tuple[tuple[str, str], dict[str, Any]]] = {}

    def answer(self, request: Request, key: tuple[str, str], parameters: dict[str, Any]) -> Any:
        """What the route of that method and path makes of *request*: bytes, or what is to be awaited."""
        route, handler = self._handlers[key]
        return begun(self._pipeline.handle(request, route, handler, parameters))

    def answer_at_once(self, request: Request) -> Any:
        """The same where the route is remembered; None where it is not, and Klein has to find it."""
        found = self._remembered.get((request.method, request.path))
        return None if found is None else self.answer(request, *found)

    def remember(self, request: Request, path: str) -> None:
        """Remember the route of *request*, whose *path* is below the application root."""
        method = request.method.decode("latin-1")
        try:
            rule, parameters = self._urls.match(path, method=method, return_rule=True)
        except HTTPException:
            return
        if (method, rule.rule) in self.known:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[request.method, request.path] = (method, rule.rule), dict(parameters)

    def unroutable(self, request: Request) -> Any:
        """Answer what not even the last resort takes: a method that nobody knows, a number beyond all bounds."""
        return self._pipeline.handle(request, _NOWHERE, self._nothing, {})

    def resource(self) -> IResource:
        """The application as a twisted.web resource."""
        return _Front(self, self.app.resource())

    def _others(self, call: Call, path: str = "") -> Any:
        """What no route takes: a page of the competition's own, else 404 in the form that CTFd gives."""
        method = call.request.method.decode("latin-1")
        allowed = self._allowed(call.route_path)
        if method == "OPTIONS" and allowed:
            return Answer(b"", 200, "text/html; charset=utf-8", ((b"Allow", ", ".join(allowed).encode()),))
        if method in {"GET", "HEAD"}:
            return self._fallback(call, path)
        return self._nothing(call)

    def _nothing(self, call: Call) -> Answer:
        if call.request.method not in {b"GET", b"HEAD"} and call.route_path.startswith("/api/v1/"):
            raise NotFoundInApi if self._allowed(call.route_path) else NotFound
        raise NotFound

    def _allowed(self, path: str) -> list[str]:
        """The methods of the routes, other than the last resort, that take *path*."""
        found = set()
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            try:
                rule, _ = self._urls.match(path, method=method, return_rule=True)
            except HTTPException:
                continue
            if rule.rule != OTHERS and (method, rule.rule) in self.known:
                found.add(method)
        return sorted(found | ({"HEAD", "OPTIONS"} if "GET" in found else {"OPTIONS"} if found else set()))


@cache
def _application(keys: tuple[tuple[str, str], ...]) -> Klein:
    """The application that takes these methods and paths, to be bound to a site.

    Werkzeug compiles every path, which takes longer than all else that a platform needs to be put together; sites
    with the same routes share it.
    """
    app = Klein()

    def add(method: str, path: str) -> None:
        def endpoint(site: PlatformSite, request: Request, **parameters: Any) -> Any:
            return site.answer(request, (method, path), parameters)

        endpoint.__name__ = f"{method} {path}"
        app.route(path, methods=[method], strict_slashes=True)(endpoint)

    def unroutable(site: PlatformSite, request: Request, _: Failure) -> Any:
        return site.unroutable(request)

    for key in keys:
        add(*key)
    handler: Any = unroutable  # Klein's types know no coroutines here
    app.handle_errors(HTTPException)(handler)
    return app


class _Front(Resource):
    """Answers at once what needs no Klein, and keeps from it what it could make no sense of.

    What Klein does for a request that waits for nothing takes longer than the answer: it finds the route anew, and
    makes Deferreds. What was asked for before skips that, also where it has to wait for something.
    """

    isLeaf = True

    def __init__(self, site: PlatformSite, application: IResource) -> None:
        super().__init__()
        self._site = site
        self._application = application

    def render(self, request: Request) -> Any:
        """400 for a request whose path is not UTF-8, or whose host is none or two, else the application's answer."""
        hosts = request.requestHeaders.getRawHeaders(b"host", [])
        if len(hosts) > 1 or not all(map(is_host, hosts)):
            return _bad(request)
        answer = self._site.answer_at_once(request)
        if isinstance(answer, bytes):
            return _whole(request, answer)
        if answer is not None:
            return _later(request, answer)
        try:
            path = b"/".join(request.postpath or ()).decode("utf-8")
        except UnicodeDecodeError:
            return _bad(request)
        if len(request.path) <= LONGEST:
            self._site.remember(request, f"/{path}")
        return self._application.render(request)


def _whole(request: Request, body: bytes) -> Any:
    """*body* as the answer's; twisted.web would say of one that has none, such as 304, that the body's length is 0."""
    if request.code not in NO_BODY_CODES:
        return body
    request.write(b"")
    request.finish()
    return NOT_DONE_YET


def _later(request: Request, answer: Coroutine[Any, Any, bytes]) -> Any:
    """Send what *answer* comes to; nobody goes on with it once the client has hung up.

    As Klein would: but that finds the route anew first, which costs as much as all that waiting is for.
    """
    coming = Deferred.fromCoroutine(answer)
    ended = False

    def end(left: Failure | None) -> None:
        nonlocal ended
        ended = True
        if left is not None:
            coming.cancel()

    def come(body: bytes) -> None:
        if not ended:
            request.write(body)
        if not ended:
            request.finish()

    def failed(failure: Failure) -> None:
        if not ended:
            request.processingFailed(failure)
        elif not failure.check(CancelledError):
            _log.failure("what was to be answered to one who has hung up failed", failure)

    request.notifyFinish().addBoth(end)
    coming.addCallbacks(come, failed)
    return NOT_DONE_YET


def _bad(request: Request) -> bytes:
    request.setResponseCode(400)
    request.setHeader(b"content-type", b"text/plain; charset=utf-8")
    return b"Bad Request\n"


class _Outside(Resource):
    """What lies outside the application root: the way in."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root.encode("utf-8")

    def getChild(self, path: bytes, request: Request) -> Resource:  # noqa: ARG002 - twisted.web's signature
        """This, however deep."""
        return self

    def render(self, request: Request) -> bytes:
        """302 to the same path below the root."""
        inside = request.uri if request.uri.startswith(b"/") else b"/"
        return redirectTo(self._root + inside, request)


def mounted(resource: IResource, root: str) -> IResource:
    """*resource* below the path *root* (``""`` or ``/ctf``); whoever asks for something else is sent there."""
    for segment in reversed([part for part in root.split("/") if part]):
        parent = _Outside(root)
        parent.putChild(segment.encode("utf-8"), resource)
        resource = parent
    return resource
