"""Requests that no library would send, byte for byte over a socket: each is answered or ended, and harms nobody."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Person, PlatformProcess

HOST = b"Host: x\r\n"
CLOSE = HOST + b"Connection: close\r\n\r\n"
POST = b"POST /login HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET /smuggled HTTP/1.1\r\n" + CLOSE
FORM = POST + b"Connection: close\r\nContent-Length: 4\r\nContent-Type: "


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformProcess]:
    folder: Path = tmp_path_factory.mktemp("raw")
    account = {"name": "admin", "email": "admin@example.org", "password": "a long password"}
    with PlatformProcess(folder) as running:
        Person(running).submit("/setup", ctf_name="CTF", user_mode="users", **account)
        yield running


def exchange(platform: PlatformProcess, sent: bytes) -> bytes:
    """All that is answered until the connection is closed, which must happen."""
    with socket.create_connection(("127.0.0.1", int(platform.base.rpartition(":")[2])), timeout=20) as connection:
        received = bytearray()
        try:
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                received += piece
        except ConnectionError:
            pass  # it was closed while more was being sent
        return bytes(received)


def get(target: bytes, *headers: bytes) -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + b"".join(header + b"\r\n" for header in headers) + CLOSE


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde" + NEXT,
        POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde" + NEXT,
        POST + b"Content-Length: +5\r\n\r\nabcde" + NEXT,
        POST + b"Content-Length: -5\r\n\r\nabcde" + NEXT,
        POST + b"Content-Length: 1_0\r\n\r\nabcdeabcde" + NEXT,
        POST + b"Content-Length : 5\r\n\r\nabcde" + NEXT,
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + NEXT,
        POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + NEXT,
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + NEXT,
        CHUNKED + b"-1\r\nx\r\n0\r\n\r\n" + NEXT,
        CHUNKED + b"0x1\r\nx\r\n0\r\n\r\n" + NEXT,
        CHUNKED + b"1;" + b"a" * 20_000 + b"\r\nx\r\n0\r\n\r\n" + NEXT,
        CHUNKED + b"0\r\nX: " + b"y" * 70_000 + b"\r\n\r\n" + NEXT,
    ],
)
def test_a_request_that_two_servers_may_read_differently_is_the_last(platform: PlatformProcess, sent: bytes) -> None:
    answer = exchange(platform, sent)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /login\r\n\r\n", b"400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400"),
        (b"F\xffO /login HTTP/1.1\r\n" + CLOSE, b"400"),
        (b"CONNECT x:80 HTTP/1.1\r\n" + CLOSE, b"404"),
        (b"TRACE /login HTTP/1.1\r\nCookie: session=secret\r\n" + CLOSE, b"404"),
        (b"GET /login HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n", b"400"),
        (b"GET /login HTTP/1.1\r\nHost: x@evil.example\r\nConnection: close\r\n\r\n", b"400"),
        (get(b"/login", b"X: a\0b"), b"400"),
        (get(b"/login", b"X y: a"), b"400"),
        (get(b"/login", *[b"X: a"] * 1000), b"400"),
        (get(b"/a\0b"), b"400"),
        (get(b"/\xff\xfe"), b"400"),
        (get(b"/%ff%zz"), b"400"),
        (get(b"/a%00b"), b"404"),
        (get(b"/" + b"a" * 15_000), b"404"),
        (get(b"http://evil.example/settings"), b"404"),
        (get(b"//evil.example/settings"), b"404"),
        (get(b"/users/" + b"9" * 6000), b"404"),
        (get(b"/api/v1/users/99999999999999999999999999"), b"404"),
        (get(b"/login?" + b"&".join([b"a=b"] * 2000)), b"400"),
        (get(b"/login", b"Cookie: session=\xff\xfe.aa; session=.; session=a.b.c; =;;;="), b"200"),
        (get(b"/login", b"Cookie: " + b"; ".join([b"a=b"] * 1500)), b"200"),
        (get(b"/login", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), b"200"),
        (get(b"/api/v1/users/me", b"Authorization: \xff\xfe \xff"), b"401"),
        (get(b"/api/v1/users/me", b"Authorization: Token " + b"a" * 9000), b"401"),
        (get(b"/oauth?next=%E2%80%AE%00"), b"302"),
        (get(b"/redirect?state=%ff%00&code=x"), b"302"),
        (POST + b"Expect: 100-continue\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n", b"413"),
        (FORM + b"multipart/form-data; boundary=\xff\r\n\r\nabcd", b"400"),
        (FORM + b"multipart/form-data\r\n\r\nabcd", b"400"),
        (FORM + b"\xff\r\n\r\nabcd", b"403"),
        (
            b"POST /api/v1/tokens HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n"
            + CLOSE
            + b"[" * 200_000,
            b"403",
        ),
    ],
)
def test_an_odd_request_has_an_answer(platform: PlatformProcess, sent: bytes, status: bytes) -> None:
    answer = exchange(platform, sent)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"secret" not in answer
    assert b"Location: http" not in answer


def test_requests_in_a_row_are_answered_in_their_order(platform: PlatformProcess) -> None:
    paths = [b"/login" if number % 2 else b"/nowhere" for number in range(40)]
    answer = exchange(
        platform, b"".join(b"GET %b HTTP/1.1\r\n%b\r\n" % (path, HOST) for path in paths) + get(b"/login")
    )
    statuses = re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert statuses == [b"200" if path == b"/login" else b"404" for path in paths] + [b"200"]


def test_a_header_without_an_end_ends(platform: PlatformProcess) -> None:
    assert exchange(platform, b"GET /login HTTP/1.1\r\nX: " + b"a" * 1_000_000).count(b"HTTP/1.1 200") == 0
    assert exchange(platform, b"GET /" + b"a" * 1_000_000).count(b"HTTP/1.1 200") == 0


def test_who_asks_for_much_and_reads_nothing_takes_no_memory_and_is_answered_when_they_read(
    platform: PlatformProcess,
) -> None:
    def megabytes() -> int:
        status = Path(f"/proc/{platform.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) // 1024  # type: ignore[index]

    port, asked, answered = int(platform.base.rpartition(":")[2]), 6000, 0
    before = megabytes()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        sending = threading.Thread(
            target=connection.sendall, args=(b"GET /login HTTP/1.1\r\n%b\r\n" % HOST * (asked - 1) + get(b"/login"),)
        )
        sending.start()
        # Somebody else is served meanwhile, and each answer shows that the server has had time for more.
        for _ in range(50):
            assert Person(platform).page("/login").status_code == 200
        assert megabytes() - before < 30
        rest = b""
        while piece := connection.recv(1 << 20):
            rest += piece
            answered += rest.count(b"HTTP/1.1 200 ")
            rest = rest[-12:]
        sending.join(20)
    assert answered == asked


def test_nothing_of_all_this_was_a_defect(platform: PlatformProcess) -> None:
    assert Person(platform).page("/login").status_code == 200
    assert not [line for line in platform.printed.splitlines() if "Traceback" in line or "defect" in line]
