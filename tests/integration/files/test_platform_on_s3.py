"""Claims about a platform whose files are in a bucket: what its clients read is what they read of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from buckets import BucketServer
from msgspec.structs import replace
from twisted.logger import capturedLogs

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.files.s3 import S3
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge

FILES = "/api/v1/files"
TYPE = "multipart/form-data; boundary=xx"
CONTENT = b"content" * 1000


pytestmark = pytest.mark.usefixtures("keys")


def platform_on(bucket: Any) -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform(uploads=bucket).setup()
    yield platform
    platform.close()
    store = platform.platform.uploads
    assert isinstance(store, S3)
    store.client.close()


@pytest.fixture
def platform(server: BucketServer) -> Iterator[MemoryPlatform]:
    yield from platform_on(server.bucket("ctf/"))
    server.empty()


@pytest.fixture
def cut_off(server: BucketServer) -> Iterator[MemoryPlatform]:
    """A platform whose bucket nobody answers for."""
    yield from platform_on(replace(server.bucket(), endpoint_url="http://127.0.0.1:1"))


def send(client: Client, *files: tuple[str, bytes], **fields: object) -> Reply:
    parts = [b'form-data; name="%s"\r\n\r\n%s' % (name.encode(), str(fields[name]).encode()) for name in fields]
    parts += [b'form-data; name="file"; filename="%s"\r\n\r\n%s' % (name.encode(), body) for name, body in files]
    body = b"".join(b"--xx\r\nContent-Disposition: %s\r\n" % part for part in parts) + b"--xx--\r\n"
    return client.request("POST", FILES, data=body, content_type=TYPE)


def test_what_is_uploaded_is_downloaded(platform: MemoryPlatform, server: BucketServer) -> None:
    admin, challenge = platform.admin(), platform.run(a_challenge)
    (file,) = send(admin, ("a b.txt", CONTENT), type="challenge", challenge=challenge).data
    assert file["sha1sum"] == hashlib.sha1(CONTENT).hexdigest()  # noqa: S324 - what CTFd records
    assert server.objects() == {f"ctf/{file['location']}": CONTENT}
    (url,) = platform.player("ann").get(f"/api/v1/challenges/{challenge}").data["files"]
    reply = platform.client().get(url)
    assert (reply.status, reply.headers["cache-control"]) == (302, "no-cache")
    assert requests.get(reply.location, timeout=20).content == CONTENT
    assert platform.client().get(f"/files/{file['location']}").status == 403


def test_a_file_goes_from_the_bucket_with_its_row(platform: MemoryPlatform, server: BucketServer) -> None:
    admin = platform.admin()
    first, second = send(admin, ("a.txt", b"a"), ("b.txt", b"")).data
    assert admin.delete(f"{FILES}/{first['id']}").status == 200
    assert server.objects() == {f"ctf/{second['location']}": b""}
    assert admin.get(f"/files/{first['location']}").status == 404


def test_a_chosen_location_is_replaced(platform: MemoryPlatform, server: BucketServer) -> None:
    admin = platform.admin()
    (first,) = send(admin, ("x.txt", b"old"), location="mine/a.txt").data
    (second,) = send(admin, ("y.txt", b"new"), location="mine/a.txt").data
    assert second["id"] == first["id"]
    assert server.objects() == {"ctf/mine/a.txt": b"new"}


@pytest.mark.parametrize("fields", [{"location": "a"}, {"type": "challenge", "challenge": 99}, {"type": "x"}])
def test_what_is_refused_leaves_nothing(
    platform: MemoryPlatform, server: BucketServer, fields: dict[str, object]
) -> None:
    assert send(platform.admin(), ("a.txt", CONTENT), **fields).status == 400
    assert (server.objects(), server.uploads()) == ({}, [])


def test_a_row_without_content_is_not_there(platform: MemoryPlatform, server: BucketServer) -> None:
    admin = platform.admin()
    (file,) = send(admin, ("a.txt", b"a")).data
    server.empty()
    assert admin.get(f"/files/{file['location']}").status == 404


def test_a_bucket_that_is_away_is_said_to_be(cut_off: MemoryPlatform, platform: MemoryPlatform) -> None:
    (file,) = send(platform.admin(), ("a.txt", b"a")).data
    admin = cut_off.admin()
    with capturedLogs() as said:
        reply = send(admin, ("a.txt", b"a"))
    assert (reply.status, reply.headers["retry-after"]) == (503, "30")
    assert any("can't be reached" in str(event.get("trouble")) for event in said)
    assert admin.get(FILES).data == []
    cut_off.run(insert_row, files, {"type": "standard", "location": file["location"]})
    assert admin.get(f"/files/{file['location']}").status == 503
    # The row goes all the same, its content later.
    (row,) = admin.get(FILES).data
    assert admin.delete(f"{FILES}/{row['id']}").status == 200
    assert admin.get(FILES).data == []
