"""Every place in which the content of files may be kept, held to the same claims: a folder, and a bucket over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests
from buckets import KEYS, BucketServer

from ctfd_twisted.files.content import Content, Elsewhere, Store
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.files.s3 import S3

#: Larger than a piece of an upload to a bucket, and no multiple of one.
LARGE = bytes(range(256)) * 4096 * 9 + b"the end"
MISSING = ("", "abc", "abc/", "abc/none", "abc/a.txt/b", "../a.txt", "abc/../abc/a.txt", "./abc/a.txt", "/abc/a.txt")
STRANGE = ("abc//a.txt", "abc/a.txt\0", "abc/" + "x" * 300, "x/" * 3000 + "x", "abc/\udcff")


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with BucketServer() as server:
        yield server


def in_folder(tmp_path: Path, server: BucketServer) -> Store:
    del server
    return Disk(tmp_path / "uploads")


def in_bucket(tmp_path: Path, server: BucketServer) -> Store:
    del tmp_path
    return S3(server.bucket("some/prefix/"), 2**30, 2)


@pytest.fixture(params=[in_folder, in_bucket])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    make: Callable[[Path, BucketServer], Store] = request.param
    store = make(tmp_path, server)
    yield store
    if isinstance(store, S3):
        store.client.close()
    server.empty()


def put(store: Store, location: str, *pieces: bytes, staged: str | None = None) -> None:
    content = store.stage(staged or location)
    for piece in pieces:
        content.write(piece)
    content.close()
    content.keep(location)
    content.discard()


def read(content: Content | None) -> bytes | None:
    if content is None:
        return None
    with closing(content.file) as file:
        return b"".join(iter(lambda: file.read(100_000), b""))


def got(store: Store, location: str, name: str = "a.txt", **headers: str) -> tuple[int, bytes]:
    """What a client reads: status and body, for whole files and for one range."""
    found = store.offer(location, name, "GET")
    if isinstance(found, Elsewhere):
        answer = requests.get(found.url, headers=headers, timeout=20)
        return answer.status_code, answer.content
    return (404, b"") if found is None else (200, read(found) or b"")


def test_a_store_that_can_be_used_says_nothing(store: Store) -> None:
    store.check()


@pytest.mark.parametrize("content", [b"", b"content", LARGE], ids=["empty", "small", "large"])
def test_what_is_kept_is_found(store: Store, content: bytes) -> None:
    pieces = [content[at : at + 700_001] for at in range(0, len(content), 700_001)]
    put(store, "abc/a.txt", *pieces)
    found = store.open("abc/a.txt")
    assert found is not None
    assert found.version.size == len(content)
    assert read(found) == content
    assert got(store, "abc/a.txt") == (200, content)


def test_what_is_kept_is_read_from_any_position(store: Store) -> None:
    put(store, "abc/a.txt", b"0123456789")
    found = store.open("abc/a.txt")
    assert found is not None
    with closing(found.file) as file:
        assert [file.read(2), file.seek(7), file.read(2), file.read(9), file.read(9)] == [b"01", 7, b"78", b"9", b""]
        assert [file.seek(10), file.read(1)] == [10, b""]


@pytest.mark.parametrize("location", [*MISSING, *STRANGE], ids=lambda text: ascii(text)[:20])
def test_nothing_else_is_found(store: Store, location: str) -> None:
    put(store, "abc/a.txt", b"content")
    assert store.open(location) is None
    assert store.offer(location, "a.txt", "GET") is None
    store.remove(location, directory=False)
    assert read(store.open("abc/a.txt")) == b"content"


@pytest.mark.parametrize("location", ["../a.txt", "abc/../../a.txt", "abc/", "abc/\0"], ids=ascii)
def test_nothing_is_kept_elsewhere(store: Store, location: str) -> None:
    content = store.stage("abc/a.txt")
    content.write(b"content")
    content.close()
    with pytest.raises(OSError, match=r"director|location"):
        content.keep(location)
    content.discard()


def test_nothing_is_seen_before_it_is_kept(store: Store) -> None:
    content = store.stage("abc/a.txt")
    content.write(LARGE)
    assert store.open("abc/a.txt") is None
    content.close()
    assert store.open("abc/a.txt") is None
    content.keep("abc/a.txt")
    assert read(store.open("abc/a.txt")) == LARGE


def test_what_is_discarded_leaves_nothing(store: Store, server: BucketServer, tmp_path: Path) -> None:
    for pieces, closes in (([], False), ([b"x"], False), ([LARGE], False), ([LARGE], True)):
        content = store.stage("abc/a.txt")
        for piece in pieces:
            content.write(piece)
        if closes:
            content.close()
        content.discard()
        content.discard()
    assert store.open("abc/a.txt") is None
    assert (server.objects(), server.uploads()) == ({}, [])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_comes_to_a_location_takes_the_place_of_what_is_there(store: Store) -> None:
    put(store, "mine/a.txt", b"old", staged="f00/a.txt")
    put(store, "mine/a.txt", LARGE, staged="ba5/a.txt")
    assert read(store.open("mine/a.txt")) == LARGE
    assert (store.open("f00/a.txt"), store.open("ba5/a.txt")) == (None, None)


def test_what_is_removed_is_gone_for_everybody(store: Store) -> None:
    put(store, "abc/a.txt", b"a")
    put(store, "abc/b.txt", b"b")
    assert got(store, "abc/a.txt") == (200, b"a")
    store.remove("abc/a.txt", directory=False)
    store.remove("abc/a.txt", directory=False)
    assert store.open("abc/a.txt") is None
    assert got(store, "abc/a.txt") == (404, b"")
    assert read(store.open("abc/b.txt")) == b"b"
    store.remove("abc/b.txt", directory=True)
    store.remove("none/b.txt", directory=True)
    assert store.open("abc/b.txt") is None


def test_names_are_kept_as_they_are(store: Store) -> None:
    # CTFd's rows, and those of others, hold more than what is made of names here.
    for location in ("abc/a b+c%20.txt", "abc/é.txt", "deep/er/a.txt", "top"):
        put(store, location, location.encode(), staged="f00/a")
        assert read(store.open(location)) == location.encode()
        assert got(store, location)[1] == location.encode()


def test_what_comes_now_is_not_forgotten(store: Store) -> None:
    put(store, "abc/a.txt", b"a")
    store.forget()
    assert read(store.open("abc/a.txt")) == b"a"
