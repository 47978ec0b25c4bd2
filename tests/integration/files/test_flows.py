"""What administrators and strangers do with files, on both databases as they are opened in earnest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.service import make_platform
from ctfd_twisted.testing import Client, Reply, settings_for_tests
from ctfd_twisted.testing.fake_agent import FakeAgents
from ctfd_twisted.testing.oauth import MemoryProvider
from ctfd_twisted.testing.webhooks import MemoryReach

FILES = "/api/v1/files"
TYPE = "multipart/form-data; boundary=xx"
NewClient = Callable[..., Client]


@pytest.fixture
def client(engines: Engines, tmp_path: Path) -> NewClient:
    clock = Clock()
    clock.advance(datetime(2026, 3, 14, tzinfo=UTC).timestamp())
    db = Database(engines, Bus(), write=start_inline, read=start_inline)
    platform = make_platform(
        settings_for_tests(uploads=tmp_path / "uploads"),
        clock,
        db,
        start_inline,
        MemoryReach(),
        FakeAgents(),
        start_inline,
        MemoryProvider(),
    )
    return lambda token=None: Client(platform.resource, token)


@pytest.fixture
def admin(client: NewClient) -> Client:
    first = client()
    setup = {"ctf_name": "X", "name": "admin", "email": "a@b.co", "password": "p", "user_mode": "users"}
    assert first.submit("/setup", **setup).location == "/"
    return client(first.post("/api/v1/tokens", {}).data["value"])


def send(client: Client, *parts: tuple[bytes, bytes]) -> Reply:
    """Send *parts*: what their header says behind ``form-data;``, and their content."""
    body = b"".join(b"--xx\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % part for part in parts)
    return client.request("POST", FILES, data=body + b"--xx--\r\n", content_type=TYPE)


def a_file(name: bytes = b"a.txt", content: bytes = b"content") -> tuple[bytes, bytes]:
    return b'name="file"; filename="%s"' % name, content


def field(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return b'name="%s"' % name, value


def test_a_file_from_its_upload_to_its_end(admin: Client, client: NewClient) -> None:
    challenge = {"name": "c", "category": "x", "value": 1, "type": "standard", "state": "visible", "description": ""}
    number = admin.post("/api/v1/challenges", challenge).data["id"]
    owner = (field(b"type", b"challenge"), field(b"challenge", str(number).encode()))
    first, second = send(admin, *owner, a_file(), a_file(b"b.txt", b"")).data
    assert first["sha1sum"] == hashlib.sha1(b"content").hexdigest()  # noqa: S324 - what CTFd records
    assert admin.get(f"{FILES}?type=challenge").data == [first, second]
    assert admin.get(f"/api/v1/challenges/{number}/files").data == [first, second]
    assert admin.get(f"/files/{first['location']}", headers={"Range": "bytes=-3"}).body == b"ent"
    assert client().get(f"/files/{first['location']}").status == 403
    (link, _) = admin.get(f"/api/v1/challenges/{number}").data["files"]
    assert client().get(link).body == b"content"
    assert admin.delete(f"{FILES}/{first['id']}").status == 200
    assert client().get(link).status == 404
    assert admin.delete(f"/api/v1/challenges/{number}").status == 200
    assert admin.get(FILES).data == []


@pytest.mark.parametrize(
    "path",
    [
        "/files/a%00/b",
        "/files/%ff/b",
        "/files/a%2fb",
        "/files/..%2f..%2fetc/passwd",
        "/files/%5c..%5cb",
        "/files/" + "a" * 8_000,
        "/files/a/b?token=%00",
        "/files/a/b?token=" + "." * 5_000,
        "/files/",
        "/files",
        "/files//",
        "/files/.incoming/0",
    ],
    ids=lambda path: path[:24],
)
def test_strange_addresses_lead_nowhere(admin: Client, path: str) -> None:
    assert admin.get(path).status in {400, 404}


@pytest.mark.parametrize(
    "query", ["location=%00", "type=%00", "q=%00&field=location", "q=%25_%5c&field=type", "field=id&q=1", "q=%ff"]
)
def test_strange_filters_find_nothing(admin: Client, query: str) -> None:
    send(admin, a_file())
    reply = admin.get(f"{FILES}?{query}")
    assert reply.status == 400 or (reply.status == 200 and len(reply.data) <= 1)


@pytest.mark.parametrize("number", ["0", "-1", "99999999999999999999", "1e3", "%00", "%ff", "1 "])
def test_strange_ids_are_nobodys(admin: Client, number: str) -> None:
    send(admin, a_file())
    assert admin.get(f"{FILES}/{number}").status in {400, 404}
    assert admin.delete(f"{FILES}/{number}").status in {400, 404}


@pytest.mark.parametrize(
    "parts",
    [
        (field(b"type", b"\x00"), a_file()),
        (field(b"type", b"\xff"), a_file()),
        (field(b"type", b""), a_file()),
        (field(b"challenge_id", b"2147483648"), a_file()),
        (field(b"type", b"page"), field(b"page", b"7"), a_file()),
        (field(b"type", b"solution"), field(b"solution_id", b"0"), a_file()),
        (field(b"location", b"\xff/\xff"), a_file()),
        (field(b"location", b"a/" + b"\x00"), a_file()),
        (field(b"location", b"/etc/passwd"), a_file()),
        (field(b"location", b"C:\\a"), a_file()),
        (field(b"location", b"../a"), a_file()),
        (a_file(b"\x00"), a_file()),
        (a_file(b"\xff\xfe"), a_file()),
        (field(b"location", b"x" * 2_000_000), a_file()),
        tuple(a_file() for _ in range(201)),
    ],
    ids=range(15),
)
def test_strange_uploads_are_refused_and_leave_nothing(
    admin: Client, tmp_path: Path, parts: tuple[tuple[bytes, bytes], ...]
) -> None:
    assert send(admin, *parts).status in {400, 413}
    assert admin.get(FILES).data == []
    assert [path for path in (tmp_path / "uploads").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        (b"../../etc/passwd", "passwd"),
        (b"C:\\Temp\\a b.txt", "a_b.txt"),
        (b".htaccess", "htaccess"),
        ("\u202etxt.exe".encode(), "txt.exe"),
        (b"a%2f..%2fb", "a2f..2fb"),
        (b"x" * 300 + b".txt", "x" * 196 + ".txt"),
        (b"-rf", "-rf"),
        ("naïve ☕ café.md".encode(), "naive_cafe.md"),
    ],
)
def test_names_are_made_safe(admin: Client, name: bytes, kept: str) -> None:
    (file,) = send(admin, a_file(name)).data
    directory, found = file["location"].split("/")
    assert (len(directory), found) == (32, kept)
    reply = admin.get(f"/files/{file['location']}")
    assert (reply.body, reply.headers["content-disposition"]) == (b"content", f'attachment; filename="{kept}"')
