"""One request, after it is known who is asking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec
from twisted.web.server import Request

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Forbidden, Invalid, Malformed
from ctfd_twisted.http.answers import RedirectTo
from ctfd_twisted.http.bodies import json_object, read_query, read_struct
from ctfd_twisted.http.cookies import Cookies, new_sid
from ctfd_twisted.http.described import Reads
from ctfd_twisted.http.forms import FIELDS, read_form
from ctfd_twisted.http.intake import taken_by

#: What is known of a competition before the database was asked.
UNKNOWN: Final = Competition({})

S = TypeVar("S", bound=msgspec.Struct)

#: Seconds that a signed-in session lasts.
SESSION_LASTS = 604_800
_NO_JSON = "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."


class Front(msgspec.Struct, frozen=True):
    """Where this server stands: the root it is mounted under, the address it is known by, and its cookies."""

    root: str
    public_url: str | None
    cookies: Cookies

    def url(self, path: str) -> str:
        """*path* (which begins with ``/``) below the application root."""
        return self.root + path


class Call:
    """One request as handlers see it."""

    __slots__ = (
        "_arguments",
        "_form",
        "_nonce",
        "_object",
        "address",
        "by_token",
        "competition",
        "cookie",
        "front",
        "inside",
        "is_json",
        "now",
        "player",
        "reads",
        "request",
        "secure",
        "sid",
    )

    def __init__(self, request: Request, front: Front, now: datetime, address: str, *, secure: bool) -> None:
        self.request = request
        self.front = front
        self.now = now
        self.address = address
        self.secure = secure
        self.is_json = is_json(request.getHeader(b"content-type"))
        self.competition = UNKNOWN
        self.player: Player | None = None
        self.by_token = False
        self.sid: str | None = None
        #: What this answer says about the session cookie: nothing, or a ``Set-Cookie`` value.
        self.cookie: bytes | None = None
        #: Whether a page of ours asks for what it draws: it needs the whole answer, as it is.
        self.inside = False
        #: What the route says it reads of query and body; None where it says nothing.
        self.reads: Reads | None = None
        self._nonce: str | None = None
        self._arguments: dict[str, str] | None = None
        self._form: dict[str, str] | None = None
        self._object: dict[str, Any] | None = None

    # Who

    def require_player(self) -> Player:
        """The player; else 403 for JSON requests and the way to the login page for others."""
        if self.player is None:
            raise self.to_login()
        return self.player

    def to_login(self) -> Exception:
        """What an anonymous caller gets where a login is needed."""
        return Forbidden() if self.wants_json else RedirectTo(self.with_next("/login"))

    @property
    def wants_json(self) -> bool:
        """Whether a script is asking: it is answered errors where a browser is led to a page."""
        return self.is_json or self.by_token

    @property
    def is_admin(self) -> bool:
        """Whether an administrator is asking."""
        return self.player is not None and self.player.is_admin

    @property
    def sees_scores(self) -> bool:
        """Whether scores are shown to this caller as fields."""
        return self.competition.sees_scores(logged_in=self.player is not None, is_admin=self.is_admin)

    @property
    def sees_accounts(self) -> bool:
        """Whether accounts are shown to this caller."""
        return self.competition.sees_accounts(logged_in=self.player is not None, is_admin=self.is_admin)

    # The session

    @property
    def nonce(self) -> str:
        """The CSRF nonce of the caller's session; a visitor who has no session yet is given one with the answer."""
        if self._nonce is None:
            if self.sid is None:
                self.start_session(new_sid(), lasts=None)
            assert self.sid is not None  # noqa: S101 - just started
            self._nonce = self.front.cookies.nonce(self.sid)
        return self._nonce

    def start_session(self, sid: str, *, lasts: int | None = SESSION_LASTS) -> None:
        """Give the caller the session *sid* with this answer, in place of the one they came with."""
        self.sid = sid
        self._nonce = None
        self.cookie = self.front.cookies.header(sid, lasts=lasts, secure=self.secure)

    def end_session(self) -> None:
        """Take the caller's session away with this answer."""
        self.sid = None
        self._nonce = None
        self.cookie = self.front.cookies.cleared()

    # Where

    @property
    def path(self) -> str:
        """The full path with its query, which ends in ``?`` where there is none: what ``next=`` carries."""
        uri = self.request.uri.decode("latin-1")
        return uri if "?" in uri else uri + "?"

    @property
    def route_path(self) -> str:
        """The path below the application root, without a query."""
        return self.request.path.decode("utf-8", "replace").removeprefix(self.front.root)

    def url(self, path: str) -> str:
        """*path* (which begins with ``/``) below the application root."""
        return self.front.root + path

    def with_next(self, path: str) -> str:
        """*path* with a ``next`` that leads back here."""
        return f"{self.url(path)}?next={quote(self.path, safe='')}"

    def absolute_url(self, path: str) -> str:
        """*path* as an address that works from elsewhere."""
        return self.origin + self.url(path)

    @property
    def origin(self) -> str:
        """Scheme and host under which the caller, or the deployment's ``public-url``, knows this server."""
        if self.front.public_url is not None:
            return self.front.public_url
        host = (self.request.getHeader(b"host") or b"localhost").decode("latin-1")
        return f"{'https' if self.secure else 'http'}://{host}"

    # What

    def body_object(self) -> dict[str, Any]:
        """The body's top-level object: JSON, or a form where the request is none; raises ``Malformed``."""
        if self.reads is not None and not self.reads.body:
            raise TypeError("the route does not say that it has a body, so its document would not tell")
        if self._object is None:
            if self.is_json:
                self._object = json_object(self.raw_body())
            elif self.request.method == b"POST" and self.request.getHeader(b"content-type"):
                self._object = dict(self.form_values())
            else:
                raise Malformed(_NO_JSON)
        return self._object

    def raw_body(self) -> bytes:
        """The body's bytes."""
        content = self.request.content
        if content is None:
            return b""
        content.seek(0)
        return bytes(content.read())

    def body(self, kind: type[S], read: Callable[[Mapping[str, Any], type[S]], S] = read_struct) -> S:
        """The body as a *kind*; raises ``Malformed``, and ``Invalid`` as *read* words it."""
        self.expect(kind)
        return read(self.body_object(), kind)

    @property
    def arguments(self) -> dict[str, str]:
        """The query's parameters, the first value of each."""
        if self._arguments is None:
            _, _, query = self.request.uri.partition(b"?")
            if not query:
                self._arguments = {}
                return self._arguments
            try:
                pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=FIELDS)
            except ValueError:
                raise Invalid({"": [f"at most {FIELDS} query parameters are read"]}) from None
            self._arguments = {}
            for name, value in pairs:
                self._arguments.setdefault(name, value.replace("\0", ""))
        return self._arguments

    def argument(self, name: str, default: str | None = None) -> str | None:
        """One parameter of the query."""
        return self.arguments.get(name, default)

    def query(self, kind: type[S]) -> S:
        """The query as a *kind*; raises ``Invalid`` with CTFd's messages."""
        self.expect(kind)
        return read_query(self.arguments, kind)

    def expect(self, kind: type[msgspec.Struct]) -> None:
        """Raise ``TypeError``, which a test sees, where the route does not say that *kind* is read."""
        if self.reads is not None and kind not in self.reads.structs:
            raise TypeError(f"the route does not say that it reads {kind.__name__}, so its document would not tell")

    def form(self, name: str, default: str | None = None) -> str | None:
        """One field of a form body."""
        return self.form_values().get(name, default)

    def form_values(self) -> dict[str, str]:
        """The text fields of a form body, the last value of each; raises as ``read_form`` does."""
        if self._form is None:
            fields = self._fields()
            self._form = {name: value.replace("\0", "") for name, value in fields.items()}
        return self._form

    def _fields(self) -> Mapping[str, str]:
        taking = taken_by(self.request)
        if taking is not None:
            return taking.fields
        return read_form(self.request.getHeader(b"content-type") or b"", self.raw_body())


def is_json(content_type: bytes | None) -> bool:
    """Whether a request's ``Content-Type`` is ``application/json`` or ``application/*+json``."""
    if content_type is None:
        return False
    if content_type == b"application/json":
        return True
    kind = content_type.split(b";", 1)[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))
