"""What the agent answers over HTTP: `/status` and `/healthcheck`, behind the key and the origin."""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast
from urllib.parse import unquote_to_bytes

from klein import Klein
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from koth_agent.access import Network, carries_key, may_connect
from koth_agent.answers import (
    FORBIDDEN,
    NOT_FOUND,
    UNAUTHORIZED,
    Answer,
    health_answer,
    method_not_allowed,
    signature,
    status_answer,
)
from koth_agent.identity import OwnerUnknown
from koth_agent.run import Run


class Routes:
    """The two questions. They know nothing of keys: ``Door`` stands before them."""

    app = Klein()
    app.url_map.merge_slashes = False  # `/x//status` is another path (404), not a redirect
    _log = Logger()

    def __init__(
        self, owner: Callable[[], Awaitable[str]], health: Callable[[], Awaitable[Run]], key: bytes | None
    ) -> None:
        self._owner = owner  # raises OwnerUnknown
        self._health = health
        self._key = key

    @app.route("/status", methods=["GET"])
    async def status(self, request: IRequest) -> bytes:
        """Who holds the hill."""
        owner = None
        try:
            owner = await self._owner()
        except OwnerUnknown as reason:
            self._log.warn("The owner is unknown: {reason}", reason=reason)
        return head(request, status_answer(owner), self._key)

    @app.route("/healthcheck", methods=["GET"])
    async def healthcheck(self, request: IRequest) -> bytes:
        """Whether the target is well, by the health command's word."""
        run = await self._health()
        if not run.succeeded:
            self._log.warn("The health command failed: {trouble}", trouble=run.trouble)
        return head(request, health_answer(run), self._key)

    @app.handle_errors(HTTPException)
    def elsewhere(self, request: IRequest, failure: Failure) -> bytes:
        """Another path, or another method."""
        error = failure.value
        if isinstance(error, MethodNotAllowed):
            return head(request, method_not_allowed(error.valid_methods or ()), self._key)
        return head(request, NOT_FOUND, self._key)


class Door(Resource):
    """Lets in who has the key (asked first) and comes from an allowed network; the rest is up to *inner*."""

    isLeaf = True

    def __init__(self, inner: Resource, key: bytes | None, networks: Sequence[Network]) -> None:
        super().__init__()
        self._inner = inner
        self._key = key
        self._networks = networks

    def render(self, request: IRequest) -> int | bytes:
        """Refuse, or hand on."""
        refusal = self._refusal(request)
        if refusal is not None:
            # A refusal for want of the key is not signed: a signature over a nonce of a stranger's choice would
            # let him try keys at home.
            request.write(head(request, refusal, None if refusal is UNAUTHORIZED else self._key))
            request.finish()
            return NOT_DONE_YET
        # Klein binds its routes to the name in Host and fails on names that no host can have. Ours has one name.
        request.requestHeaders.setRawHeaders(b"Host", [b"agent"])
        return cast("int", self._inner.render(request))

    def _refusal(self, request: IRequest) -> Answer | None:
        if self._key is not None:
            authorization = request.requestHeaders.getRawHeaders(b"Authorization", [])
            if not carries_key(authorization, self._key):
                return UNAUTHORIZED
        host = getattr(request.getClientAddress(), "host", None)
        # Over a UNIX socket there is no address; who may connect there, its file's mode says.
        if host is not None and not may_connect(host, self._networks):
            return FORBIDDEN
        # Klein would log a traceback for the one, and take `//status` for `/status`.
        if not _is_utf8(unquote_to_bytes(request.path)) or request.path.startswith(b"//"):
            return NOT_FOUND
        return None


def head(request: IRequest, answer: Answer, key: bytes | None) -> bytes:
    """Write *answer*'s status and headers to *request*, signed if a nonce was sent and there is a *key*; its body."""
    request.setResponseCode(answer.status)
    for name, value in answer.headers:
        request.setHeader(name, value)
    request.setHeader(b"Content-Type", answer.content_type)
    request.setHeader(b"Content-Length", b"%d" % len(answer.body))
    request.setHeader(b"Cache-Control", b"no-store")
    request.setHeader(b"Server", b"koth-agent")  # not which Twisted
    nonce = request.getHeader(b"KoTH-Nonce")
    if key is not None and nonce is not None:
        request.setHeader(b"KoTH-Signature", signature(key, nonce, answer.body))
    return answer.body


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
