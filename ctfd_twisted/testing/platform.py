"""The whole platform in memory: SQLite in memory, transactions at once, a ``Clock``, and HTTP without a socket.

What a client sees of it (status, headers, JSON, cookies) is what it would see over a socket. What it can't show:
threads, races, real TLS, and the limits of twisted.web's own protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec
from sqlalchemy import Connection, Engine
from treq.testing import StubTreq
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.web.resource import IResource

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.accounts.tokens import create_token
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database, Start, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import EVERYTHING, Bus, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.schema import metadata
from ctfd_twisted.service import make_platform
from ctfd_twisted.settings import Settings
from ctfd_twisted.testing.conformance import Conformance, MakeValidator
from ctfd_twisted.testing.fake_agent import FakeAgents
from ctfd_twisted.testing.oauth import MemoryProvider
from ctfd_twisted.testing.webhooks import MemoryReach

T = TypeVar("T")

#: When a platform in memory begins, unless a test says otherwise.
BEGINS = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
BASE = "http://ctf.example"
_NONCE = re.compile(r"csrfNonce': \"([a-f0-9]{64})\"")


def settings_for_tests(**changes: Any) -> Settings:
    """A deployment's settings as a test wants them: cheap hashes, a known key, nothing trusted."""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    settings = Settings(
        listen=(),
        database="sqlite://",
        data_dir=Path("/nonexistent"),
        uploads=Path("/nonexistent/uploads"),
        upload_limit=64 * 1024 * 1024,
        public_url=None,
        trusted_proxies=networks,
        roles=frozenset({"web", "koth", "webhooks", "mail"}),
        malformed_payload_status=500,
        webhook_header_prefix="Service-Webhook",
        application_root="",
        trusted_hosts=(),
        secret_key=b"a secret key for tests",
        preset_admin=None,
        password_rounds=4,
        confirmation_button=False,
        server_sent_events=True,
        mail=None,
    )
    return msgspec.structs.replace(settings, **changes)


def result_of(waiting: Deferred[T] | Coroutine[Deferred[Any], Any, T]) -> T:
    """The value of what has already happened; raises its error, or ``AssertionError`` where it still waits."""
    outcome: list[T | Failure] = []
    ensureDeferred(waiting).addBoth(outcome.append)
    if not outcome:
        raise AssertionError("still waiting")
    (value,) = outcome
    if isinstance(value, Failure):
        value.raiseException()
    return value


class Reply(msgspec.Struct, frozen=True):
    """An answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return msgspec.json.decode(self.body)

    @property
    def data(self) -> Any:
        """The ``data`` of a successful answer; fails with the answer where there was no success."""
        if self.status != 200 or not self.json.get("success"):  # noqa: PLR2004 - success is 200
            raise AssertionError((self.status, self.body))
        return self.json["data"]

    @property
    def errors(self) -> Any:
        """The ``errors`` of an answer that has some."""
        return self.json["errors"]

    @property
    def location(self) -> str:
        """Where a redirect leads."""
        return self.headers["location"]


#: Is told method, path, and answer, and raises ``AssertionError`` where it may not be so.
Check = Callable[[str, str, Reply], None]


class Client:
    """Somebody who talks to a platform in memory: with an access token, or as a browser with cookies."""

    def __init__(self, resource: IResource, token: str | None = None, check: Check | None = None) -> None:
        self._resource = resource
        self._check = check
        self.token = token
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, **options: Any) -> Reply:
        """Send one request; ``json=``, ``data=`` (a form), ``headers=`` and ``content_type=`` as needed.

        A request with a token, and one with ``json``, is a JSON request; a browser's JSON carries its nonce.
        """
        headers = dict(options.pop("headers", {}))
        content_type = options.pop("content_type", None)
        if "json" in options:
            options["data"] = msgspec.json.encode(options.pop("json"))
            content_type = content_type or "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Token {self.token}"
            content_type = content_type or "application/json"
        elif content_type == "application/json" and method not in {"GET", "HEAD"}:
            headers.setdefault("CSRF-Token", self.nonce)
        if content_type is not None:
            headers["Content-Type"] = content_type
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = result_of(self._send(method, path, headers, options))
        if self._check is not None:
            self._check(method, path, reply)
        return reply

    async def _send(self, method: str, path: str, headers: dict[str, str], options: dict[str, Any]) -> Reply:
        # A stub for each request: one that lasted would keep cookies in a jar of its own.
        stub: Any = StubTreq(self._resource)  # its functions are made at run time
        response = await stub.request(method, BASE + path, headers=headers, allow_redirects=False, **options)
        body = await response.content()
        seen = {
            name.decode().lower(): b", ".join(values).decode() for name, values in response.headers.getAllRawHeaders()
        }
        for cookie in response.headers.getRawHeaders(b"set-cookie") or ():
            name, _, value = cookie.decode().split(";", 1)[0].partition("=")
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return Reply(response.code, seen, body)

    def get(self, path: str, **options: Any) -> Reply:
        """GET *path*."""
        return self.request("GET", path, **options)

    def post(self, path: str, json: Any = None, **options: Any) -> Reply:
        """POST *json* to *path*."""
        return self.request("POST", path, json=json, **options)

    def patch(self, path: str, json: Any = None, **options: Any) -> Reply:
        """PATCH *path* with *json*."""
        return self.request("PATCH", path, json=json, **options)

    def put(self, path: str, json: Any = None, **options: Any) -> Reply:
        """PUT *json* to *path*."""
        return self.request("PUT", path, json=json, **options)

    def delete(self, path: str, json: Any = None, **options: Any) -> Reply:
        """DELETE *path*."""
        return self.request("DELETE", path, json=json, **options)

    def submit(self, path: str, **fields: str) -> Reply:
        """Fill in the form at *path* and send it, with its nonce."""
        return self.request("POST", path, data={"nonce": self.nonce, **fields})

    @property
    def nonce(self) -> str:
        """The CSRF nonce of this browser's session, read from a page as scripts do."""
        for page in ("/login", "/setup"):
            found = _NONCE.search(self.get(page).text)
            if found is not None:
                return found[1]
        raise AssertionError("no page shows a nonce")


class MemoryPlatform:
    """A platform in memory; ``settings`` as :func:`settings_for_tests` takes them, files are read by *file_in*."""

    #: With it, every answer of the API is held to the API's document.
    make_validator: ClassVar[MakeValidator | None] = None
    _documents: ClassVar[dict[tuple[int, str], Conformance]] = {}

    def __init__(self, clock: Clock | None = None, file_in: Start = start_inline, **settings: Any) -> None:
        self.clock = clock or Clock()
        if clock is None:
            self.clock.advance(BEGINS.timestamp())
        self.settings = settings_for_tests(**settings)
        self.bus = Bus()
        self.db = Database(open_engines("sqlite://"), self.bus, write=start_inline, read=start_inline)
        _fill(self.db.engines.write_engine)
        #: Who answers webhooks; nobody, until a test says so.
        self.webhook_reach = MemoryReach()
        #: The agents of hills, by the names of their hosts.
        self.hill_reach = FakeAgents()
        #: MajorLeagueCyber, whose users a test names.
        self.oauth_reach = MemoryProvider()
        self.platform = make_platform(
            self.settings,
            self.clock,
            self.db,
            start_inline,
            self.webhook_reach,
            self.hill_reach,
            file_in,
            self.oauth_reach,
        )
        self.treq = StubTreq(self.platform.resource)

    def close(self) -> None:
        """Forget everything."""
        self.db.close()

    @property
    def now(self) -> datetime:
        """The clock's instant."""
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    def run(self, fn: Any, *args: Any) -> Any:
        """Run a transaction at once."""
        return result_of(self.db.run(fn, *args))

    def configure(self, **values: object) -> None:
        """Change the competition's settings."""
        self.run(write_config, values)

    def setup(self, mode: str = "users", **values: object) -> MemoryPlatform:
        """Set the competition up without the wizard."""
        self.configure(setup=True, ctf_name="Test CTF", user_mode=mode, **values)
        return self

    def client(self, token: str | None = None) -> Client:
        """Somebody new."""
        checked = MemoryPlatform.make_validator is not None
        return Client(self.platform.resource, token, self._check if checked else None)

    def _check(self, method: str, path: str, reply: Reply) -> None:
        # Of the class: one of its functions would be taken for a method of this platform.
        make = MemoryPlatform.make_validator
        if make is None or not path.startswith(f"{self.settings.application_root}/api/v1/"):
            return
        key = (self.settings.malformed_payload_status, self.settings.application_root)
        if key not in self._documents:
            document = Client(self.platform.resource).get(f"{key[1]}/api/v1/openapi.json").json
            self._documents[key] = Conformance(document, make)
        self._documents[key].check(method, path, reply.status, reply.headers.get("content-type"), reply.body)

    def admin(self, name: str = "admin") -> Client:
        """An administrator with an access token; made, hidden, where there is none of this name."""
        return self.player(name, type="admin", hidden=True)

    def player(self, name: str, **columns: object) -> Client:
        """The person called *name* with an access token; made with *columns* where there is none."""
        return self.client(self.run(_token_of, self.now, name, columns))


@cache
def _tables() -> bytes:
    """An SQLite with every table and no row, made once: laying out some 50 tables takes longer than most tests."""
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    connection: Any = engines.write_engine.raw_connection()
    image: bytes = connection.serialize()
    engines.close()
    return image


def _fill(engine: Engine) -> None:
    connection: Any = engine.raw_connection()
    connection.deserialize(_tables())
    connection.close()


def _token_of(conn: Connection, now: datetime, name: str, columns: Mapping[str, object]) -> str:
    found = conn.execute(users.select().where(users.c.name == name)).first()
    if found is None:
        values = {
            "type": "user",
            "email": f"{name}@example.org",
            "verified": True,
            "hidden": False,
            "banned": False,
            "change_password": False,
            "created": now,
        }
        user_id = insert_row(conn, users, {**values, "name": name, **columns})
        touch(conn, EVERYTHING)
    else:
        user_id = found.id
    _, value = create_token(conn, now, user_id, None, None)
    return value
