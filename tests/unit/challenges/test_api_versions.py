"""The list and the detail of challenges by version: not sent again to who has it, and compressed."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from twisted.internet.testing import StringTransport

from ctfd_twisted.challenges.tables import files, hints
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_user
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.testing.statements import counted_statements

LIST = "/api/v1/challenges"
Make = Callable[..., Any]


@pytest.fixture
def challenges(make: Make) -> list[int]:
    """Thirty, which make a list that is long enough to be compressed."""
    numbers = [make(a_challenge, name=f"number {number}", description="words " * 300) for number in range(30)]
    for number in numbers:
        make(a_flag, number)
    return numbers


def known(client: Client, path: str, tag: str) -> Reply:
    return client.get(path, headers={"If-None-Match": tag})


def attempt(client: Client, challenge_id: int, flag: str) -> None:
    assert client.post(f"{LIST}/attempt", {"challenge_id": challenge_id, "submission": flag}).status == 200


def over_the_wire(platform: MemoryPlatform, client: Client, path: str, accepted: str) -> tuple[bytes, bytes]:
    """Head and body as a client gets them that does not decode by itself, as treq does."""
    channel: Any = QuietSite(platform.platform.resource, platform.clock).buildProtocol(None)
    transport = StringTransport()
    channel.makeConnection(transport)
    who = f"Authorization: Token {client.token}\r\nContent-Type: application/json\r\n"
    asked = f"GET {path} HTTP/1.1\r\nHost: ctf.example\r\n{who}Accept-Encoding: {accepted}\r\n\r\n"
    channel.dataReceived(asked.encode())
    head, _, body = transport.value().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    return head, body


def test_who_has_the_list_is_not_sent_it_again(platform: MemoryPlatform, challenges: list[int]) -> None:
    ann, ben = platform.player("ann"), platform.player("ben")
    first = ann.get(LIST)
    assert first.headers["cache-control"] == "private, no-cache"
    tag = first.headers["etag"]
    with counted_statements(platform.db.engines) as sent:
        again = known(ann, LIST, tag)
    assert (again.status, again.body, again.headers["etag"], sent) == (304, b"", tag, [])
    attempt(ann, challenges[0], "wrong")
    assert known(ann, LIST, tag).status == 304  # the list says nothing of attempts
    attempt(ben, challenges[0], "flag{right}")
    new = known(ann, LIST, tag)
    assert (new.status, new.data[0]["solves"]) == (200, 1)
    assert len({tag, new.headers["etag"], ben.get(LIST).headers["etag"]}) == 3


def test_a_tag_changes_when_the_bytes_do_and_only_then(
    platform: MemoryPlatform, make: Make, challenges: list[int]
) -> None:
    gated = make(a_challenge, requirements={"prerequisites": [challenges[3]], "anonymize": True})
    make(a_challenge, scheduled_at=platform.now + timedelta(hours=1))
    clients = [platform.player("ann"), platform.player("ben"), platform.admin(), platform.admin("other")]
    seen: dict[bytes, str] = {}

    def look() -> int:
        for client in clients:
            for query in ("", "?view=admin", "?category=web", "?name=number+4", "?name=nothing"):
                reply = client.get(LIST + query)
                assert seen.setdefault(reply.body, reply.headers["etag"]) == reply.headers["etag"]
        assert len(set(seen.values())) == len(seen)
        return len(seen)

    counts = [look(), look()]
    attempt(clients[0], challenges[3], "flag{right}")
    counts.append(look())
    clients[2].patch(f"{LIST}/{gated}", {"name": "renamed"})
    counts.append(look())
    platform.configure(score_visibility="hidden")
    counts.append(look())
    platform.clock.advance(3601)
    counts.append(look())
    assert counts[0] == counts[1] < counts[2] < counts[3] < counts[4] < counts[5]


def test_the_list_compressed_says_the_same(platform: MemoryPlatform, challenges: list[int]) -> None:
    ann = platform.player("ann")
    attempt(ann, challenges[9], "flag{right}")
    head, plain = over_the_wire(platform, ann, LIST, "")
    assert b"Content-Encoding" not in head
    head, zipped = over_the_wire(platform, ann, LIST, "gzip, deflate")
    assert b"Content-Encoding: gzip" in head
    assert b"Content-Length: %d\r\n" % len(zipped) in head + b"\r\n"
    assert len(zipped) < len(plain) / 3
    assert gzip.decompress(zipped) == plain
    assert over_the_wire(platform, ann, LIST, "gzip;q=0")[1] == plain


def test_who_has_a_detail_is_not_sent_it_again(platform: MemoryPlatform, make: Make, challenges: list[int]) -> None:
    path = f"{LIST}/{challenges[0]}"
    make(insert_row, hints, {"challenge_id": challenges[0], "content": "do", "cost": 0, "type": "standard"})
    ann = platform.player("ann")
    tag = ann.get(path).headers["etag"]
    assert known(ann, path, tag).status == 304
    attempt(ann, challenges[1], "wrong")
    assert known(ann, path, tag).status == 304
    attempt(ann, challenges[0], "wrong")
    new = known(ann, path, tag)
    assert (new.status, new.data["attempts"]) == (200, 1)
    assert new.headers["cache-control"] == "private, no-cache"
    make(a_solve, challenges[0], make(a_user))
    assert known(ann, path, new.headers["etag"]).data["solves"] == 1


def test_a_detail_with_links_to_files_is_another_when_they_are(
    platform: MemoryPlatform, make: Make, challenges: list[int]
) -> None:
    path = f"{LIST}/{challenges[0]}"
    make(insert_row, files, {"challenge_id": challenges[0], "type": "challenge", "location": "a/b.txt"})
    ann = platform.player("ann")
    tag = ann.get(path).headers["etag"]
    platform.clock.advance(29 * 60)
    assert known(ann, path, tag).status == 304
    platform.clock.advance(61)
    assert known(ann, path, tag).status == 200


def test_a_hill_has_versions_as_well(platform: MemoryPlatform, make: Make) -> None:
    path = f"{LIST}/{make(a_hill)}"
    ann = platform.player("ann")
    tag = ann.get(path).headers["etag"]
    assert known(ann, path, tag).status == 304


def test_the_detail_compressed_says_the_same(platform: MemoryPlatform, challenges: list[int]) -> None:
    ann, path = platform.player("ann"), f"{LIST}/{challenges[0]}"
    head, zipped = over_the_wire(platform, ann, path, "gzip")
    assert b"Content-Encoding: gzip" in head
    plain = ann.get(path).body
    assert gzip.decompress(zipped) == plain
    assert len(zipped) < len(plain) / 2


def test_pages_draw_the_whole_list_whatever_their_reader_has(platform: MemoryPlatform, challenges: list[int]) -> None:
    ann = platform.player("ann")
    path = f"/challenges?open={challenges[0]}"
    page = ann.get(path, headers={"If-None-Match": "*", "Accept-Encoding": "gzip"})
    assert page.status == 200
    assert "number 29" in page.text
