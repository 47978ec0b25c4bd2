"""POST /api/v1/files."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctfd_twisted.challenges.tables import solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge

Make = Callable[..., Any]
FILES = "/api/v1/files"
TYPE = "multipart/form-data; boundary=xx"


def form(*files: tuple[str, bytes], **fields: object) -> bytes:
    """A body as browsers send it."""
    parts = [b'form-data; name="%s"\r\n\r\n%s' % (name.encode(), str(fields[name]).encode()) for name in fields]
    parts += [b'form-data; name="file"; filename="%s"\r\n\r\n%s' % (name.encode(), body) for name, body in files]
    return b"".join(b"--xx\r\nContent-Disposition: %s\r\n" % part for part in parts) + b"--xx--\r\n"


def send(client: Client, *files: tuple[str, bytes], **fields: object) -> Reply:
    return client.request("POST", FILES, data=form(*files, **fields), content_type=TYPE)


def stored(uploads: Path) -> list[str]:
    return sorted(str(path.relative_to(uploads)) for path in uploads.rglob("*") if path.is_file())


def test_files_are_kept_each_in_a_directory_of_its_own(platform: MemoryPlatform, uploads: Path) -> None:
    admin = platform.admin()
    first, second = send(admin, ("a b.txt", b"first"), ("../é.tar.gz", b"")).data
    assert (first["type"], second["type"]) == ("standard", "standard")
    assert [file["location"].split("/")[1] for file in (first, second)] == ["a_b.txt", "e.tar.gz"]
    assert [len(file["location"].split("/")[0]) for file in (first, second)] == [32, 32]
    assert first["sha1sum"] == hashlib.sha1(b"first").hexdigest()  # noqa: S324 - what CTFd records
    assert stored(uploads) == sorted([first["location"], second["location"]])
    assert admin.get(f"/files/{first['location']}").body == b"first"
    assert admin.get(FILES).data == [first, second]


def test_a_browser_shows_its_nonce_in_the_form(platform: MemoryPlatform, uploads: Path) -> None:
    admin = platform.admin()
    admin.get(FILES)
    browser = platform.client()
    browser.cookies = dict(admin.cookies)
    assert send(browser, ("a.txt", b"a")).status == 403
    assert stored(uploads) == []
    assert len(send(browser, ("a.txt", b"a"), nonce=browser.nonce).data) == 1


def test_only_administrators_upload(platform: MemoryPlatform, uploads: Path) -> None:
    assert send(platform.player("ann"), ("a.txt", b"a")).status == 403
    assert send(platform.client(), ("a.txt", b"a")).status == 403
    assert not uploads.exists()


@pytest.mark.parametrize("name", ["challenge", "challenge_id"])
def test_a_file_of_a_challenge_is_shown_with_it(platform: MemoryPlatform, make: Make, name: str) -> None:
    admin, number = platform.admin(), make(a_challenge)
    assert admin.get(f"/api/v1/challenges/{number}").data["files"] == []
    (file,) = send(admin, ("a.txt", b"a"), type="challenge", **{name: number}).data
    assert admin.get(f"/api/v1/challenges/{number}/files").data == [file]
    (url,) = admin.get(f"/api/v1/challenges/{number}").data["files"]
    assert platform.client().get(url).body == b"a"


def test_an_owner_is_of_the_files_type(platform: MemoryPlatform, make: Make) -> None:
    admin, number = platform.admin(), make(a_challenge)
    solution = make(insert_row, solutions, {"challenge_id": number, "state": "hidden"})
    assert send(admin, ("a.txt", b"a"), type="solution", solution=solution, challenge=number).status == 200
    assert admin.get(f"/api/v1/challenges/{number}/files").data == []


def test_an_upload_to_a_location_takes_the_place_of_what_is_there(platform: MemoryPlatform, uploads: Path) -> None:
    admin = platform.admin()
    (first,) = send(admin, ("x.txt", b"old"), location="my.dir/a b.txt").data
    assert first["location"] == "mydir/a_b.txt"
    (second,) = send(admin, ("y.txt", b"new"), location="mydir/a b.txt", type="page").data
    assert (second["id"], second["type"]) == (first["id"], "page")
    assert admin.get("/files/mydir/a_b.txt").body == b"new"
    assert stored(uploads) == ["mydir/a_b.txt"]


def test_without_files_there_is_nothing_to_do(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    assert send(admin, type="page").data == []
    assert admin.post(FILES, {}).data == []


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"location": "a"}, {"location": ["Location must contain two parts, a directory and a filename"]}),
        ({"location": "a/b/c"}, {"location": ["Location must contain two parts, a directory and a filename"]}),
        ({"location": "../b"}, {"location": ["Location must contain two parts, a directory and a filename"]}),
        ({"challenge": "x"}, {"challenge": "value is not a valid integer"}),
        ({"type": "challenge", "challenge": 99}, {"challenge": ["There is no such challenge"]}),
    ],
)
def test_what_is_wrong_is_said_and_leaves_nothing(
    platform: MemoryPlatform, uploads: Path, fields: dict[str, object], errors: object
) -> None:
    reply = send(platform.admin(), ("a.txt", b"a"), **fields)
    assert (reply.status, reply.errors) == (400, errors)
    assert stored(uploads) == []


def test_a_location_is_for_one_file(platform: MemoryPlatform, uploads: Path) -> None:
    reply = send(platform.admin(), ("a.txt", b"a"), ("b.txt", b"b"), location="d/a.txt")
    assert reply.errors == {"location": ["Location cannot be specified with multiple files"]}
    assert stored(uploads) == []


@pytest.mark.parametrize("name", ["", "..", "/", "???"])
def test_a_file_needs_a_name(platform: MemoryPlatform, name: str) -> None:
    assert send(platform.admin(), (name, b"a")).errors == {"file": ["A file needs a name"]}


def test_a_type_that_is_none_is_refused(platform: MemoryPlatform) -> None:
    assert "type" in send(platform.admin(), ("a.txt", b"a"), type="other").errors


@pytest.mark.parametrize("body", [b"", b"--xx\r\n", form(("a.txt", b"a"))[:-8]])
def test_a_broken_form_is_refused_and_leaves_nothing(platform: MemoryPlatform, uploads: Path, body: bytes) -> None:
    reply = platform.admin().request("POST", FILES, data=body, content_type=TYPE)
    assert reply.status == 400
    assert stored(uploads) == []


def test_a_disk_that_refuses_leaves_no_row(
    platform: MemoryPlatform, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(disk: Disk, staged: Path, location: str) -> None:
        raise OSError(28, "No space left on device", str(disk.root / location), None, str(staged))

    monkeypatch.setattr(Disk, "keep", refuse)
    admin = platform.admin()
    assert send(admin, ("a.txt", b"a")).status == 500
    assert admin.get(FILES).data == []
    assert stored(uploads) == []


def test_an_empty_location_is_none(platform: MemoryPlatform) -> None:
    (file,) = send(platform.admin(), ("a.txt", b"a"), location="").data
    assert len(file["location"]) == 32 + len("/a.txt")


def test_a_file_without_a_name_keeps_nothing_of_the_others(platform: MemoryPlatform, uploads: Path) -> None:
    reply = send(platform.admin(), ("a.txt", b"a"), ("", b""), ("b.txt", b"b"))
    assert reply.errors == {"file": ["A file needs a name"]}
    assert stored(uploads) == []


@pytest.mark.parametrize("number", ["", "1.5", "99999999999", "-0x1", "None"])
def test_an_owner_is_named_by_a_number(platform: MemoryPlatform, number: str) -> None:
    reply = send(platform.admin(), ("a.txt", b"a"), type="challenge", challenge_id=number)
    assert (reply.status, reply.errors) == (400, {"challenge_id": "value is not a valid integer"})


def test_no_location_leads_into_the_place_of_what_comes(platform: MemoryPlatform) -> None:
    (file,) = send(platform.admin(), ("a.txt", b"a"), location=".incoming/a.txt").data
    assert file["location"] == "incoming/a.txt"


def test_an_upload_that_is_refused_does_not_touch_what_it_would_replace(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    (file,) = send(admin, ("a.txt", b"old"), location="d/a.txt").data
    assert send(admin, ("a.txt", b"new"), location="d/a.txt", type="challenge", challenge_id=99).status == 400
    assert admin.get("/files/d/a.txt").body == b"old"
    assert admin.get(FILES).data == [file]
