"""Claims about bodies that are too large, over plain sockets: they are refused before they are read, whoever asks."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from running import DEADLINE, Person, PlatformProcess, eventually
from test_uploads import ADMIN, MEBIBYTE, TOKEN, peak_mb, set_up

from ctfd_twisted.http.server import BODY_LIMIT

UPLOAD_LIMIT = 12 * MEBIBYTE
FORM = "multipart/form-data; boundary=xx"
HEAD = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformProcess]:
    folder = tmp_path_factory.mktemp("oversize")
    with PlatformProcess(folder, None, "--upload-limit", "12", **ADMIN) as platform:
        set_up(platform)
        yield platform


class Client:
    """Somebody who sends a body without waiting to be asked for it."""

    def __init__(self, platform: PlatformProcess, line: str, content_type: str, token: str | None, size: str) -> None:
        host, port = platform.base.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), DEADLINE)
        lines = [f"{line} HTTP/1.1", f"Host: {host}:{port}", f"Content-Type: {content_type}", size]
        if token is not None:
            lines.append(f"Authorization: Token {token}")
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> bool:
        """Whether the platform still takes something."""
        try:
            self._socket.sendall(data)
        except OSError:
            return False
        return True

    def answer(self) -> bytes:
        """All that the platform says, to the end of the connection."""
        said = b""
        try:
            while piece := self._socket.recv(65536):
                said += piece
        except ConnectionResetError:
            pass  # it has closed the connection on what was still sent
        return said

    def close(self) -> None:
        self._socket.close()


#: What is asked, with which type of body, with the token of an administrator or none, and how much may be sent.
KINDS = {
    "the API": ("POST /api/v1/challenges/attempt", "application/json", TOKEN, BODY_LIMIT),
    "the API, by nobody": ("PATCH /api/v1/users/me", "application/json", None, BODY_LIMIT),
    "a form": ("POST /login", "application/x-www-form-urlencoded", None, BODY_LIMIT),
    "a form with files": ("POST /settings", FORM, None, BODY_LIMIT),
    "a page": ("GET /", "text/plain", None, BODY_LIMIT),
    "what is not there": ("POST /no/such/page", "text/plain", None, BODY_LIMIT),
    "health": ("GET /healthcheck", "text/plain", None, BODY_LIMIT),
    "events": ("GET /events", "text/plain", None, BODY_LIMIT),
    "a download": ("GET /files/a/b", "text/plain", None, BODY_LIMIT),
    "files as JSON": ("POST /api/v1/files", "application/json", TOKEN, BODY_LIMIT),
    "an upload": ("POST /api/v1/files", FORM, TOKEN, UPLOAD_LIMIT),
    "an upload by nobody": ("POST /api/v1/files", FORM, None, BODY_LIMIT),
    "an upload with a wrong token": ("POST /api/v1/files", FORM, "ctfd_wrong", BODY_LIMIT),
}


@pytest.mark.parametrize(("line", "content_type", "token", "limit"), KINDS.values(), ids=KINDS)
def test_an_announced_body_is_refused_before_it_is_sent(
    platform: PlatformProcess, line: str, content_type: str, token: str | None, limit: int
) -> None:
    with closing(Client(platform, line, content_type, token, f"Content-Length: {limit + 1}")) as client:
        assert_refused(client.answer(), limit)


@pytest.mark.parametrize(("line", "content_type", "token", "limit"), KINDS.values(), ids=KINDS)
def test_a_body_in_chunks_is_refused_where_it_gets_too_large(
    platform: PlatformProcess, line: str, content_type: str, token: str | None, limit: int
) -> None:
    before = peak_mb(platform)
    chunk = b"%x\r\n%s\r\n" % (MEBIBYTE, b"x" * MEBIBYTE)
    with closing(Client(platform, line, content_type, token, "Transfer-Encoding: chunked")) as client:
        client.send(b"%x\r\n%s\r\n" % (len(HEAD), HEAD))
        sent = 0
        while sent <= limit and client.send(chunk):
            sent += MEBIBYTE
        assert_refused(client.answer(), limit)
    assert peak_mb(platform) - before < 3 * limit / MEBIBYTE
    # What had come goes when the platform has noticed that nobody is there any more.
    eventually(lambda: not list(Path(platform.log.parent).rglob(".incoming/*")), "nothing is left of the upload")


def test_a_body_of_the_largest_size_is_none_too_large(platform: PlatformProcess) -> None:
    tail = b"\r\n--xx--\r\n"
    content = b"x" * (UPLOAD_LIMIT - len(HEAD) - len(tail))
    size = f"Content-Length: {UPLOAD_LIMIT}\r\nConnection: close"
    with closing(Client(platform, "POST /api/v1/files", FORM, TOKEN, size)) as client:
        assert client.send(HEAD + content + tail)
        assert client.answer().startswith(b"HTTP/1.1 200 ")
    assert Person(platform, TOKEN).call("GET", "/files")


def assert_refused(answer: bytes, limit: int) -> None:
    assert re.match(rb"HTTP/1\.1 413 ", answer), answer[:200]
    assert b"larger than the %d bytes" % limit in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nConnection: close\r\n" in answer
