"""Answers that many get alike."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
import pytest
from twisted.internet.testing import StringTransport

from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user
from ctfd_twisted.testing.platform import MemoryPlatform

BOARD = "/api/v1/scoreboard"


@pytest.fixture
def platform() -> MemoryPlatform:
    """A board of thirty, which is long enough to be compressed."""
    platform = MemoryPlatform().setup()
    challenge = platform.run(a_challenge)
    for number in range(30):
        user = platform.run(lambda conn, number=number: a_user(conn, name=f"player {number}"))
        platform.run(a_solve, challenge, user)
    return platform


def test_who_has_it_is_not_sent_it_again(platform: MemoryPlatform) -> None:
    client = platform.client()
    etag = client.get(BOARD).headers["etag"]
    again = client.get(BOARD, headers={"If-None-Match": f'"other", {etag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert client.get(BOARD, headers={"If-None-Match": "*"}).status == 304
    assert client.get(BOARD, headers={"If-None-Match": '"other"'}).status == 200


def test_nothing_is_said_of_the_length_of_what_is_not_sent(platform: MemoryPlatform) -> None:
    """A cache would take it for that of what it keeps (RFC 9110, 8.6)."""
    etag = platform.client().get(BOARD).headers["etag"]
    for _ in range(2):
        transport = StringTransport()
        channel = QuietSite(platform.platform.resource, platform.clock).buildProtocol(None)
        channel.makeConnection(transport)
        channel.dataReceived(f"GET {BOARD} HTTP/1.1\r\nHost: x\r\nIf-None-Match: {etag}\r\n\r\n".encode())
        head, _, body = transport.value().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 304 ")
        assert (b"content-length" in head.lower(), body) == (False, b"")


def test_another_version_has_another_name(platform: MemoryPlatform) -> None:
    client = platform.client()
    etag = client.get(BOARD).headers["etag"]
    user = platform.player("late").get("/api/v1/users/me").data["id"]
    assert platform.admin().post("/api/v1/awards", {"user_id": user, "name": "x", "value": 5}).status == 200
    new = client.get(BOARD, headers={"If-None-Match": etag})
    assert (new.status, new.headers["etag"] != etag, len(new.data)) == (200, True, 31)


def test_it_is_compressed_from_the_second_version_on_for_who_takes_that(platform: MemoryPlatform) -> None:
    _, plain = over_the_wire(platform)
    assert over_the_wire(platform, "br, gzip")[1] == plain  # nobody had asked for it before
    platform.configure(ctf_name="Another name")
    headers, zipped = over_the_wire(platform, "br, gzip")
    assert b"Content-Encoding: gzip" in headers
    assert b"Vary: Accept-Encoding" in headers
    assert len(zipped) < len(plain)
    assert gzip.decompress(zipped) == plain
    for refusing in ("gzip;q=0", "identity", ""):
        headers, body = over_the_wire(platform, refusing)
        assert (b"Content-Encoding" in headers, body) == (False, plain)


def over_the_wire(platform: MemoryPlatform, accepted: str = "") -> tuple[bytes, bytes]:
    """Head and body of the board as a client gets them that does not decode by itself, as treq does."""
    channel: Any = QuietSite(platform.platform.resource, platform.clock).buildProtocol(None)
    transport = StringTransport()
    channel.makeConnection(transport)
    asked = f"GET {BOARD} HTTP/1.1\r\nHost: ctf.example\r\nAccept-Encoding: {accepted}\r\n\r\n"
    channel.dataReceived(asked.encode())
    head, _, body = transport.value().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    return head, body


def test_it_is_never_told_past_the_gates(platform: MemoryPlatform) -> None:
    etag = platform.client().get(BOARD).headers["etag"]
    platform.configure(score_visibility="admins")
    assert platform.client().get(BOARD, headers={"If-None-Match": etag}).status == 404


@pytest.mark.parametrize("path", ["/api/v1/brackets", "/api/v1/scoreboard/top/10"])
def test_others_are_shared_too(platform: MemoryPlatform, path: str) -> None:
    client = platform.client()
    etag = client.get(path).headers["etag"]
    assert client.get(path, headers={"If-None-Match": etag}).status == 304
    assert platform.admin().post("/api/v1/brackets", {"name": "students", "type": "users"}).status == 200
    assert msgspec.json.decode(client.get(path).body)["success"] is True


def test_a_new_bracket_is_there_at_once(platform: MemoryPlatform) -> None:
    client = platform.client()
    assert client.get("/api/v1/brackets").data == []
    platform.admin().post("/api/v1/brackets", {"name": "students", "type": "users"})
    assert [bracket["name"] for bracket in client.get("/api/v1/brackets").data] == ["students"]


def test_settings_among_which_are_secrets_are_kept_by_no_browser(platform: MemoryPlatform) -> None:
    platform.configure(mail_password="correct horse")
    for _ in range(2):
        answer = platform.admin().get("/api/v1/configs")
        assert "correct horse" in answer.text
        assert answer.headers["cache-control"] == "no-store"
