"""``/healthcheck`` and ``/readyz``, and what everybody is told while this node is not ready."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, text
from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request
from twisted.web.util import redirectTo

from ctfd_twisted.db.database import Database

#: Seconds that the database has to answer; one that hangs is as good as none.
PATIENCE: Final = 5
_PLAIN: Final = b"text/plain; charset=utf-8"


def answers(conn: Connection) -> None:
    """Ask the database for nothing much; raises what it raises."""
    conn.execute(text("SELECT 1")).scalar_one()


class FrontDoor(Resource):
    """The root of the site: health for whoever watches this node, the platform for everybody else once it is ready.

    ``closed`` is why this node may not be sent requests now (it starts, migrates, waits for a migration, drains), or
    None when it may.
    """

    def __init__(self, db: Database, clock: IReactorTime) -> None:
        super().__init__()
        self._db = db
        self._clock = clock
        self._platform: IResource | None = None
        self.closed: str | None = "starting"

    def open(self, platform: IResource) -> None:
        """From now on *platform* answers."""
        self._platform = platform
        self.closed = None

    def getChildWithDefault(self, path: bytes, request: Any) -> Any:
        """The resource for *path*, the first segment of the request's."""
        if not request.postpath:
            if path == b"healthcheck":
                return _Health(self._db, self._clock)
            if path == b"readyz":
                return _Ready(self)
        if self._platform is None:
            return _Closed(self.closed or "starting")
        # Klein routes by the whole path itself, so it is given back before the leaf is.
        request.postpath.insert(0, request.prepath.pop())
        return self._platform

    def render(self, request: Request) -> bytes:
        """302 to the first page, for the application root without its slash."""
        return redirectTo(b"/%b/" % b"/".join(request.prepath or ()), request)


class _Plain(Resource):
    isLeaf = True

    def answer(self, request: IRequest, status: int, body: bytes) -> bytes:
        """*body* as plain text that nobody keeps."""
        request.setResponseCode(status)
        request.setHeader(b"content-type", _PLAIN)
        request.setHeader(b"cache-control", b"no-store")
        return body


class _Health(_Plain):
    """200 ``OK`` when the database answers within :data:`PATIENCE` seconds, else 503."""

    def __init__(self, db: Database, clock: IReactorTime) -> None:
        super().__init__()
        self._db = db
        self._clock = clock

    def render(self, request: Request) -> int:
        def finish(status: int, body: bytes) -> None:
            if not gone:
                request.write(self.answer(request, status, body))
                request.finish()

        def failed(_: Failure) -> None:
            finish(503, b"ERR")

        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)
        asked = maybeDeferred(self._db.read, answers).addTimeout(PATIENCE, self._clock)
        asked.addCallback(lambda _: finish(200, b"OK")).addErrback(failed)
        return NOT_DONE_YET


class _Ready(_Plain):
    """200 when this node may be sent requests, else 503 with the reason."""

    def __init__(self, door: FrontDoor) -> None:
        super().__init__()
        self._door = door

    def render(self, request: IRequest) -> bytes:
        if self._door.closed is None:
            return self.answer(request, 200, b"OK")
        return self.answer(request, 503, self._door.closed.encode())


class _Closed(_Plain):
    """503 for everything else while this node is not ready."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self._reason = reason

    def render(self, request: IRequest) -> bytes:
        request.setHeader(b"retry-after", b"2")
        return self.answer(request, 503, f"This server is not ready yet: {self._reason}\n".encode())
