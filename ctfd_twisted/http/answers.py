"""Answers, and the envelopes that the REST API puts around data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from twisted.web.server import Request

_encoder = msgspec.json.Encoder()

JSON: Final = "application/json"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"


class Answer(msgspec.Struct, frozen=True):
    """One answer: encoded body, status, and headers beside those that every answer carries."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class StreamedAnswer(Answer, frozen=True, kw_only=True):
    """An answer whose body of *length* bytes is written by ``send`` piece by piece.

    Where nobody wants the body (HEAD), ``drop`` is called instead.
    """

    length: int
    send: Callable[[Request], Awaitable[None]]
    drop: Callable[[], None]


class RedirectTo(Exception):
    """Ends a request with 302 to *location*."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


def encode(value: object) -> bytes:
    """*value* as JSON."""
    return _encoder.encode(value)


def json_answer(value: object, status: int = 200) -> Answer:
    """*value* as JSON, without an envelope."""
    return Answer(_encoder.encode(value), status)


def ok(data: object, **beside: Any) -> Answer:
    """``{"success": true, "data": data}`` with *beside* (``meta``) at the top level."""
    return Answer(_encoder.encode({"success": True, "data": data, **beside}))


def done() -> Answer:
    """``{"success": true}``: a change that has nothing to show."""
    return _DONE


_DONE: Final = Answer(b'{"success":true}')


def redirect(location: str, *headers: tuple[bytes, bytes]) -> Answer:
    """302 to *location*, with a small page for whoever does not follow."""
    body = b"<!doctype html>\n<title>Redirecting...</title>\n<h1>Redirecting...</h1>\n"
    return Answer(body, 302, HTML, ((b"Location", location.encode("utf-8")), *headers))
