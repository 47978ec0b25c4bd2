"""Claims about a bucket that no folder has to hold to: its troubles, its addresses, what is sent when."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from buckets import KEYS, BucketServer
from msgspec.structs import replace

from ctfd_twisted.files.content import StoreTrouble
from ctfd_twisted.files.s3 import GIVEN, MEBIBYTE, S3

pytestmark = pytest.mark.usefixtures("keys")


class Seconds:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def store(server: BucketServer, clock: Seconds) -> Iterator[S3]:
    store = S3(server.bucket("ctf/"), 2**30, 2, clock)
    yield store
    store.client.close()
    server.empty()


def put(store: S3, location: str, content: bytes = b"0123456789") -> None:
    staged = store.stage(location)
    staged.write(content)
    staged.close()
    staged.keep(location)


def address(store: S3, location: str = "abc/a.txt", name: str = "a.txt", method: str = "GET") -> str:
    found = store.offer(location, name, method)
    assert found is not None
    return found.url


def test_objects_lie_where_ctfd_puts_them(store: S3, server: BucketServer) -> None:
    put(store, "abc/a.txt")
    assert server.objects() == {"ctf/abc/a.txt": b"0123456789"}


def test_a_large_upload_goes_in_pieces_and_is_not_held(store: S3, server: BucketServer) -> None:
    staged = store.stage("abc/a.txt")
    for number in range(40):
        staged.write(bytes([number]) * MEBIBYTE)
    (one,) = server.client.list_multipart_uploads(Bucket=server.name)["Uploads"]
    sent = server.client.list_parts(Bucket=server.name, Key=one["Key"], UploadId=one["UploadId"])["Parts"]
    assert [part["Size"] for part in sent] == [8 * MEBIBYTE] * 5
    staged.discard()
    assert server.uploads() == []


def test_pieces_are_so_large_that_the_largest_upload_fits(server: BucketServer) -> None:
    for largest in (MEBIBYTE, 2**36, 2**37, 9_999_999 * MEBIBYTE):
        piece = S3(server.bucket(), largest, 2).piece
        assert piece * 10_000 >= largest
        assert piece % MEBIBYTE == 0
        assert piece >= 8 * MEBIBYTE


def test_an_address_sends_the_file_to_be_saved_and_in_parts(store: S3) -> None:
    put(store, "abc/a.txt")
    url = address(store)
    whole = requests.get(url, timeout=20)
    assert (whole.content, whole.headers["Content-Type"]) == (b"0123456789", "text/plain")
    part = requests.get(url, headers={"Range": "bytes=2-4"}, timeout=20)
    assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    assert requests.get(url, headers={"Range": "bytes=10-"}, timeout=20).status_code == 416
    said = parse_qs(urlsplit(url).query)
    assert said["response-content-disposition"] == ['attachment; filename="a.txt"']
    assert said["response-content-type"] == ["text/plain"]
    assert said["X-Amz-Expires"] == ["3600"]
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in url


def test_an_address_is_signed_for_how_it_is_asked(store: S3) -> None:
    put(store, "abc/a.txt")
    url = address(store, method="HEAD")
    assert url != address(store)
    head = requests.head(url, timeout=20)
    assert (head.status_code, head.headers["Content-Length"]) == (200, "10")


def test_everybody_is_given_the_same_address_while_it_is_fresh(store: S3, clock: Seconds) -> None:
    put(store, "abc/a.txt")
    first = store.offer("abc/a.txt", "a.txt", "GET")
    clock.now = GIVEN - 1
    assert store.offer("abc/a.txt", "a.txt", "GET") is first
    clock.now = GIVEN
    assert store.offer("abc/a.txt", "a.txt", "GET") is not first


def test_downloads_come_from_a_domain_of_their_own(server: BucketServer) -> None:
    store = S3(replace(server.bucket(), custom_domain="files.example.org"), 2**30, 2)
    put(store, "abc/a.txt")
    assert urlsplit(address(store)).netloc == "files.example.org"
    store.client.close()
    server.empty()


def test_only_our_old_uploads_are_forgotten(store: S3, server: BucketServer) -> None:
    # This server says of all uploads that they began years ago.
    ours, elsewhere, unlike = f"ctf/{'0' * 32}/a.txt", f"{'0' * 32}/a.txt", "ctf/backup/a.txt"
    for key in (ours, elsewhere, unlike):
        server.client.create_multipart_upload(Bucket=server.name, Key=key)
    store.forget()
    assert sorted(server.uploads()) == sorted([elsewhere, unlike])


def test_a_bucket_that_is_not_there_is_told_of(server: BucketServer) -> None:
    store = S3(replace(server.bucket(), name="no-such"), 2**30, 2)
    with pytest.raises(StoreTrouble, match=r"^bucket 'no-such' can't be reached: NoSuchBucket: .*$"):
        store.check()
    with pytest.raises(StoreTrouble, match="NoSuchBucket"):
        put(store, "abc/a.txt")
    store.client.close()


def test_a_server_that_is_not_there_is_told_of_whatever_is_asked(server: BucketServer) -> None:
    store = S3(replace(server.bucket(), endpoint_url="http://127.0.0.1:1"), 2**30, 2)
    asks: tuple[Callable[[], object], ...] = (
        store.check,
        store.forget,
        lambda: store.open("abc/a.txt"),
        lambda: store.offer("abc/a.txt", "a.txt", "GET"),
        lambda: store.remove("abc/a.txt", directory=False),
        lambda: put(store, "abc/a.txt"),
    )
    for ask in asks:
        with pytest.raises(
            StoreTrouble, match=r"^bucket 'ctf-files' can't be reached: Could not connect .*$"
        ) as trouble:
            ask()
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in "".join(traceback.format_exception(trouble.value))
    store.client.close()


class Website(BaseHTTPRequestHandler):
    """Answers everybody, but not as S3 does."""

    def do_GET(self) -> None:
        page = b"{}" if self.path.startswith("/other/") else b"<Welcome/>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def website() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Website) as website:
        threading.Thread(target=website.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{website.server_port}"
        website.shutdown()


def test_a_server_that_is_something_else_is_told_of(server: BucketServer, website: str) -> None:
    for name in ("other", "welcome"):
        store = S3(replace(server.bucket(), endpoint_url=website, name=name), 2**30, 2)
        with pytest.raises(StoreTrouble, match=r"Internal Server Error|what answers does not speak like S3"):
            put(store, "abc/a.txt")
        store.client.close()


def test_missing_keys_are_told_of(server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    store = S3(server.bucket(), 2**30, 2)
    with pytest.raises(StoreTrouble, match="Unable to locate credentials"):
        store.check()
    store.client.close()


def test_an_upload_that_was_completed_without_an_answer_is_kept(store: S3, server: BucketServer) -> None:
    staged = store.stage("abc/a.txt")
    staged.write(b"content")
    staged.close()
    (one,) = server.client.list_multipart_uploads(Bucket=server.name)["Uploads"]
    upload = {"Bucket": server.name, "Key": one["Key"], "UploadId": one["UploadId"]}
    sent = server.client.list_parts(**upload)["Parts"]
    parts = [{name: part[name] for name in ("PartNumber", "ETag")} for part in sent]
    server.client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    staged.keep("abc/a.txt")
    assert server.objects() == {"ctf/abc/a.txt": b"content"}


def test_what_was_at_a_location_before_does_not_pass_for_an_upload_that_was_lost(
    store: S3, server: BucketServer
) -> None:
    put(store, "abc/a.txt", b"old")
    staged = store.stage("abc/a.txt")
    staged.write(b"new")
    staged.close()
    (one,) = server.client.list_multipart_uploads(Bucket=server.name)["Uploads"]
    server.client.abort_multipart_upload(Bucket=server.name, Key=one["Key"], UploadId=one["UploadId"])
    with pytest.raises(StoreTrouble, match="can't be reached"):
        staged.keep("abc/a.txt")
    assert server.objects() == {"ctf/abc/a.txt": b"old"}


def test_a_half_sent_upload_that_can_not_be_aborted_is_only_told_to_the_log(store: S3, server: BucketServer) -> None:
    staged = store.stage("abc/a.txt")
    staged.write(b"x" * 9 * MEBIBYTE)
    server.empty()
    with pytest.raises(StoreTrouble):
        staged.keep("abc/a.txt")
    staged.discard()
    staged.discard()
    assert server.objects() == {}
