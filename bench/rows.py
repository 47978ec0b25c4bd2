"""What is measured: each row is a kind of request, prepared as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from bench.event import PASSWORD, Event, flag_of
from bench.load import Wanted, request

_JSON = ("Content-Type", "application/json")


class Row(msgspec.Struct, frozen=True):
    """One line of the table: how many requests, and what they are."""

    name: str
    count: int
    make: Callable[[int], Iterator[Wanted]]
    #: The share of the bare route's requests per CPU-second that is expected at least; None where nothing is.
    expected: float | None = None
    #: So many requests go before, uncounted: what is measured is a player who has asked before.
    warm: int = 1
    #: Or these, where the row's own can't be sent twice.
    before: Callable[[int], Iterator[Wanted]] | None = None


#: The shares of the bare route that wrong and right answers are to reach, by the database.
_ANSWERS: Final = {"sqlite": (0.14, 0.10), "postgresql": (0.08, 0.06)}


def rows(event: Event, port: int, scale: float, dialect: str) -> list[Row]:
    """All rows, with the goals of *dialect*; *scale* times as many requests as usual."""
    wrong_goal, right_goal = _ANSWERS[dialect]
    users = sorted(event.tokens)

    def as_user(number: int) -> tuple[tuple[str, str], ...]:
        return ("Authorization", f"Token {event.tokens[users[number % len(users)]]}"), _JSON

    def reads(path: str, headers: Callable[[int], tuple[tuple[str, str], ...]]) -> Callable[[int], Iterator[Wanted]]:
        return lambda count: (Wanted(request("GET", path, headers(number))) for number in range(count))

    def wrong(count: int) -> Iterator[Wanted]:
        # What the account has solved is answered without a row; so each of these is left.
        for number, (user, challenge_id) in zip(range(count), cycle(reversed(event.unsolved)), strict=False):
            body = {"challenge_id": challenge_id, "submission": f"flag{{no {number}}}"}
            headers = ("Authorization", f"Token {event.tokens[user]}"), _JSON
            yield _attempt(headers, body, b'"status":"incorrect"')

    def right(count: int) -> Iterator[Wanted]:
        for user, challenge_id in event.unsolved[:count]:
            body = {"challenge_id": challenge_id, "submission": flag_of(challenge_id)}
            headers = ("Authorization", f"Token {event.tokens[user]}"), _JSON
            yield _attempt(headers, body, b'"status":"correct"')

    def known(count: int) -> Iterator[Wanted]:
        """Who tries has asked for something before."""
        pairs = event.unsolved[:count] + event.unsolved[-count:]
        for user in sorted({user for user, _ in pairs}):
            headers = ("Authorization", f"Token {event.tokens[user]}"), _JSON
            yield Wanted(request("GET", "/api/v1/users/me", headers))

    session = _SessionCookies(event, port)
    many, some, few = (max(20, int(count * scale)) for count in (8000, 3000, 40))
    return [
        Row("challenge list, first time", len(users), reads("/api/v1/challenges", as_user), warm=0),
        Row("challenge list by token", many, reads("/api/v1/challenges", as_user), 0.6, warm=len(users)),
        Row("challenge list by session", many, reads("/api/v1/challenges", session.headers), 0.6, warm=20),
        Row("one challenge, first time", len(users), reads("/api/v1/challenges/7", as_user), warm=0),
        Row("one challenge", many, reads("/api/v1/challenges/7", as_user), 0.75, warm=len(users)),
        Row("scoreboard", many, reads("/api/v1/scoreboard", lambda _: ()), 0.75),
        Row("top/10", many, reads("/api/v1/scoreboard/top/10", lambda _: ()), 0.75),
        Row("wrong attempt", some, wrong, wrong_goal, before=known),
        Row("right attempt", min(some, len(event.unsolved) // 2), right, right_goal, before=known),
        Row("login", few, session.logins, warm=0),
    ]


def _attempt(headers: tuple[tuple[str, str], ...], body: object, expected: bytes) -> Wanted:
    return Wanted(request("POST", "/api/v1/challenges/attempt", headers, json.dumps(body).encode()), expected)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class _SessionCookies:
    """Sessions of a few players, signed in through the login page as a browser would."""

    def __init__(self, event: Event, port: int) -> None:
        self._names = [event.names[user] for user in sorted(event.names)[:20]]
        self._base = f"http://127.0.0.1:{port}"
        self._cookies: list[str] = []

    def headers(self, number: int) -> tuple[tuple[str, str], ...]:
        """The headers of one of the players."""
        if not self._cookies:
            self._cookies = [self._sign_in(name) for name in self._names[:8]]
        return ("Cookie", f"session={self._cookies[number % len(self._cookies)]}"), _JSON

    def logins(self, count: int) -> Iterator[Wanted]:
        """Sign-ins, each with the form's nonce and from an address that the rate limit counts apart."""
        for number in range(count):
            cookie, nonce = self._form()
            body = urlencode({"name": self._names[number % len(self._names)], "password": PASSWORD, "nonce": nonce})
            headers = (
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Cookie", f"session={cookie}"),
                ("X-Forwarded-For", f"203.0.113.{number % 250 + 1}"),
            )
            yield Wanted(request("POST", "/login", headers, body.encode()), b"302 Found")

    def _sign_in(self, name: str) -> str:
        cookie, nonce = self._form()
        body = urlencode({"name": name, "password": PASSWORD, "nonce": nonce}).encode()
        headers = {"Cookie": f"session={cookie}", "X-Forwarded-For": f"198.51.100.{len(self._cookies) + 1}"}
        answer = _open(Request(f"{self._base}/login", body, headers))  # noqa: S310 - our own server
        return _cookie(answer[0])

    def _form(self) -> tuple[str, str]:
        headers, page = _open(Request(f"{self._base}/login"))  # noqa: S310 - our own server
        found = re.search(r"csrfNonce': \"([a-f0-9]{64})\"", page)
        if found is None:
            raise RuntimeError(f"no nonce in the login page: {page[:300]}")
        return _cookie(headers), found[1]


def _open(wanted: Request) -> tuple[str, str]:
    try:
        with build_opener(_NoRedirects).open(wanted, timeout=20) as answer:
            return answer.headers.get("Set-Cookie") or "", answer.read().decode()
    except HTTPError as error:
        return error.headers.get("Set-Cookie") or "", error.read().decode()


def _cookie(header: str) -> str:
    found = re.search(r"session=([^;]+)", header)
    if found is None:
        raise RuntimeError(f"no session cookie: {header!r}")
    return found[1]
