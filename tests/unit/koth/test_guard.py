"""What treq is kept from: writing URLs anew, keeping cookies, undoing one compression within another."""

from __future__ import annotations

import gzip

import pytest
from treq.client import HTTPClient
from treq.testing import RequestTraversalAgent
from twisted.internet.defer import Deferred
from twisted.web.resource import Resource
from twisted.web.server import Request

from ctfd_twisted.koth.guard import ANY_URL, Guard
from ctfd_twisted.koth.trouble import Nested
from ctfd_twisted.testing import result_of


class Says(Resource):
    """Answers with *body* and *headers*, and keeps what it was asked for."""

    isLeaf = True

    def __init__(self, body: bytes = b"", **headers: list[str]) -> None:
        super().__init__()
        self.body = body
        self.headers = headers
        self.asked: list[tuple[str | None, str]] = []

    def render(self, request: Request) -> bytes:
        self.asked.append((request.getHeader("Host"), request.uri.decode()))
        for name, values in self.headers.items():
            request.responseHeaders.setRawHeaders(name.replace("_", "-"), values)
        return self.body


def ask(server: Says, url: str = "http://hill/status") -> Deferred[bytes]:
    async def asking() -> bytes:
        response = await HTTPClient(Guard(RequestTraversalAgent(server), url)).get(ANY_URL, unbuffered=True)
        assert list(response.cookies()) == []
        return await response.content()

    return Deferred.fromCoroutine(asking())


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://[::1]:31337/status", ("[::1]:31337", "/status")),
        ("http://a_b.local/status", ("a_b.local", "/status")),
        ("http://ab--cd.local:80/status?x", ("ab--cd.local", "/status?x")),
        ("http://h/{x}|%zz?q=\"'", ("h", "/{x}|%zz?q=\"'")),
    ],
)
def test_a_url_is_asked_for_as_it_stands_in_the_settings(url: str, asked: tuple[str, str]) -> None:
    server = Says()
    assert result_of(ask(server, url)) == b""
    assert server.asked == [asked]


def test_cookies_are_not_kept() -> None:
    assert result_of(ask(Says(b"x", Set_Cookie=["a=b; path=/", "c=d"]))) == b"x"


def test_an_answer_may_be_compressed_once() -> None:
    assert result_of(ask(Says(gzip.compress(b"x"), Content_Encoding=["gzip"]))) == b"x"


@pytest.mark.parametrize("encodings", [["gzip, gzip"], ["gzip", "gzip"], ["gzip,", "gzip"], ["br,gzip"]])
def test_an_answer_that_is_compressed_twice_is_refused(encodings: list[str]) -> None:
    with pytest.raises(Nested):
        result_of(ask(Says(gzip.compress(gzip.compress(b"x")), Content_Encoding=encodings)))
