"""The Klein application out of tables of routes, and the bounds of twisted.web that protect it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from klein import Klein
from twisted.internet.interfaces import IReactorTime
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site
from werkzeug.exceptions import HTTPException

from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.errors import NotFoundInApi
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.pipeline import Pipeline
from ctfd_twisted.http.routes import Handler, Route, Routes

#: The largest body that is accepted, in bytes.
BODY_LIMIT: Final = 8 * 1024 * 1024
#: Seconds after which an idle connection is closed.
IDLE: Final = 60

OTHERS: Final = "/<path:path>"


class HasRoutes(Protocol):
    """A class of handlers."""

    routes: Routes


class PlatformSite:
    """All routes in one Klein application."""

    def __init__(self, pipeline: Pipeline, apis: Iterable[HasRoutes], fallback: Callable[[Call, str], Any]) -> None:
        """*fallback* answers GET of a path that no route has: the competition's own pages."""
        self.app = Klein()
        self._pipeline = pipeline
        self._fallback = fallback
        known = set()
        for api in apis:
            for route, handler in api.routes.of(api):
                self._add(route, handler)
                known.add((route.method, route.path))
        self.known: frozenset[tuple[str, str]] = frozenset(known)
        for path in ("/", OTHERS):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                if (method, path) not in known:
                    self._add(Route(method, path, (ANYONE,), "others"), self._others)

    def resource(self) -> IResource:
        """The application as a twisted.web resource."""
        return self.app.resource()

    def _add(self, route: Route, handler: Handler) -> None:
        pipeline = self._pipeline

        def endpoint(request: Request, **parameters: Any) -> Any:
            return pipeline.handle(request, route, handler, parameters)

        endpoint.__name__ = f"{route.method} {route.path}"
        self.app.route(route.path, methods=[route.method], strict_slashes=True)(endpoint)

    def _others(self, call: Call, path: str = "") -> Any:
        """What no route takes: a page of the competition's own, else 404 in the form that CTFd gives."""
        method = call.request.method.decode("latin-1")
        allowed = self._allowed(call.route_path)
        if method == "OPTIONS" and allowed:
            return Answer(b"", 200, "text/html; charset=utf-8", ((b"Allow", ", ".join(allowed).encode()),))
        if method in {"GET", "HEAD"}:
            return self._fallback(call, path)
        if allowed and call.route_path.startswith("/api/v1/"):
            raise NotFoundInApi
        raise NotFound

    def _allowed(self, path: str) -> list[str]:
        """The methods of the routes, other than the last resort, that take *path*."""
        urls = self.app.url_map.bind("localhost")
        found = set()
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            try:
                rule, _ = urls.match(path, method=method, return_rule=True)
            except HTTPException:
                continue
            if rule.rule != OTHERS and (method, rule.rule) in self.known:
                found.add(method)
        return sorted(found | ({"HEAD", "OPTIONS"} if "GET" in found else {"OPTIONS"} if found else set()))


def mounted(resource: IResource, root: str) -> IResource:
    """*resource* below the path *root* (``""`` or ``/ctf``)."""
    for segment in reversed([part for part in root.split("/") if part]):
        parent = Resource()
        parent.putChild(segment.encode("utf-8"), resource)
        resource = parent
    return resource


class BoundedRequest(Request):
    """A request whose body is refused before it is read when it is too large."""

    _refused = False
    _received = 0

    def gotLength(self, length: int | None) -> None:  # noqa: N802 - twisted.web's name
        """Learn the body's announced length (None: it comes in chunks)."""
        if length is not None and length > BODY_LIMIT:
            self._refuse()
            super().gotLength(0)
            return
        super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 - twisted.web's name
        """Take a piece of the body."""
        if self._refused:
            return
        self._received += len(data)
        if self._received > BODY_LIMIT:
            self._refuse()
            return
        super().handleContentChunk(data)

    def _refuse(self) -> None:
        self._refused = True
        message = b'{"message":"The request\'s body is larger than the %d bytes that are accepted."}' % BODY_LIMIT
        channel: Any = self.channel
        channel.transport.write(
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(message), message)
        )
        channel.loseConnection()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802 - twisted.web's name
        """Answer, unless it was refused already."""
        if not self._refused:
            super().requestReceived(command, path, version)


class QuietSite(Site):
    """A site that writes no line per request: that is the proxy's trade, and costs as much as a warm answer."""

    def log(self, request: object) -> None:
        """Write nothing."""


def make_site(resource: IResource, reactor: IReactorTime) -> Site:
    """The HTTP server's factory over *resource*."""
    return QuietSite(resource, requestFactory=BoundedRequest, timeout=IDLE, reactor=reactor)
