"""Claims about imports that administrators ask for with a form."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.accounts.passwords import make_hash
from ctfd_twisted.archive.desk import ImportDesk
from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.archive.receiving import ReceivedArchive
from ctfd_twisted.archive.record import last
from ctfd_twisted.db.database import Done, start_inline
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.errors import Forbidden
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.testing import MemoryPlatform, result_of
from ctfd_twisted.testing.platform import Client, Reply

DATA = Path(__file__).parents[2] / "data"
ARCHIVE = (DATA / "ctfd-3.8.7-users-export.zip").read_bytes()
BOUNDARY = "x0123456789x"


def form(archive: bytes | None, **fields: str) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    if archive is not None:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="backup"; filename="a.zip"\r\n\r\n'
        parts.append(head.encode() + archive + b"\r\n")
    return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


def send(browser: Client, archive: bytes | None, **fields: str) -> Reply:
    body = form(archive, nonce=browser.nonce, **fields)
    return browser.request("POST", "/admin/import", data=body, content_type=f"multipart/form-data; boundary={BOUNDARY}")


@pytest.fixture
def browser(platform: MemoryPlatform) -> Client:
    """An administrator who has signed in with a password."""
    platform.player("boss", type="admin", hidden=True, password=make_hash("secret", 4))
    browser = platform.client()
    assert browser.submit("/login", name="boss", password="secret").status == 302
    return browser


def test_an_archive_comes_in_and_everybody_signs_in_again(platform: MemoryPlatform, browser: Client) -> None:
    assert send(browser, ARCHIVE).location == "/admin/import"
    assert browser.get("/admin/import").location.startswith("/login?next=")
    told = json.loads((DATA / "ctfd-3.8.7-users.json").read_text())
    admin = platform.client(told["admin_token"])
    assert admin.get("/api/v1/users/me").data["name"] == told["admin"][0]
    page = admin.get("/admin/import").text
    assert "The archive is in." in page
    assert "13 users" in page
    for row in admin.get("/api/v1/files").data:
        assert platform.client().get(f"/files/{row['location']}").status in {200, 403, 404}
        assert admin.get(f"/files/{row['location']}").status == 200


def test_a_trial_changes_nothing_and_says_what_would_come_of_it(
    platform: MemoryPlatform, browser: Client, tmp_path: Path
) -> None:
    assert send(browser, ARCHIVE, dry_run="1").location == "/admin/import"
    page = browser.get("/admin/import").text
    assert "This is what the import would do. Nothing has changed." in page
    assert "13 users" in page
    assert platform.admin("boss").get("/api/v1/users/me").data["name"] == "boss"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_archive_is_told(browser: Client) -> None:
    assert send(browser, b"no zip").location == "/admin/import"
    assert "zipfile is invalid Nothing has changed." in browser.get("/admin/import").text


def test_a_form_without_an_archive_is_told(browser: Client) -> None:
    assert send(browser, None).status == 400
    assert "Choose an archive first" in send(browser, None).text


def test_a_form_needs_its_nonce_and_an_administrator(platform: MemoryPlatform, browser: Client) -> None:
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    assert browser.request("POST", "/admin/import", data=form(ARCHIVE, nonce="0"), content_type=kind).status == 403
    visitor = platform.client()
    assert send(visitor, ARCHIVE).location.startswith("/login?next=")
    assert platform.client().get("/admin/import").location.startswith("/login?next=")
    assert browser.get("/admin/import").status == 200


def test_only_one_is_imported_at_a_time(platform: MemoryPlatform, tmp_path: Path) -> None:
    """The file threads stand still until both have been asked for."""
    waiting: list[tuple[Callable[[], Any], Done]] = []
    threads = in_thread(lambda work, done: waiting.append((work, done)))
    importer = Importer(platform.db, threads, Disk(tmp_path), tmp_path)
    desk = ImportDesk(platform.db, importer, threads, lambda: platform.now)
    first, second = io.BytesIO(b"no zip"), io.BytesIO(b"no zip")
    result_of(desk.begin(first, "ada", trial=True))
    assert desk.under_way is not None
    with pytest.raises(Forbidden, match="Import currently in progress"):
        result_of(desk.begin(second, "ben", trial=False))
    goes_on = platform.run(last, platform.now)
    assert (goes_on.ended, goes_on.trial, goes_on.lost) == (None, True, False)
    assert platform.run(last, platform.now + timedelta(hours=3)).lost
    while waiting:
        start_inline(*waiting.pop(0))
    assert (first.closed, second.closed) == (True, True)
    ended = platform.run(last, platform.now)
    assert (ended.ended, ended.problem, ended.lines) == (platform.now, "zipfile is invalid", ())


@given(st.lists(st.integers(1, 400), min_size=1))
def test_an_archive_is_received_in_any_pieces(sizes: list[int]) -> None:
    body = form(b"\r\n--" + bytes(range(256)) * 3, nonce="n", dry_run="1")
    received = ReceivedArchive(Path("/tmp"), f"multipart/form-data; boundary={BOUNDARY}".encode())  # noqa: S108
    place = 0
    for size in cycle(sizes):
        received.feed(body[place : place + size])
        place += size
        if place >= len(body):
            break
    received.finish()
    assert (received.problem, received.fields) == (None, {"nonce": "n", "dry_run": "1"})
    file = received.take()
    assert file is not None
    file.seek(0)
    assert file.read() == b"\r\n--" + bytes(range(256)) * 3
    file.close()


@pytest.mark.parametrize("body", [b"", b"nothing", form(ARCHIVE)[:-30]])
def test_a_body_that_ends_early_is_refused(body: bytes, tmp_path: Path) -> None:
    received = ReceivedArchive(tmp_path, f"multipart/form-data; boundary={BOUNDARY}".encode())
    received.feed(body)
    received.finish()
    assert received.problem is not None
    assert received.take() is None
    received.discard()
