"""Claims about uploads to a real process, in a folder or a bucket: they need little memory, and survive its death."""

from __future__ import annotations

import hashlib
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from buckets import KEYS, BucketServer
from running import DEADLINE, Person, PlatformProcess, Running, eventually

MEBIBYTE = 1 << 20
#: Much more than a process may keep of it.
LARGE = 96 * MEBIBYTE
HEAD = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="image.iso"\r\n\r\n'
TAIL = b"\r\n--xx--\r\n"
TOKEN = "ctfd_" + "0" * 64
ADMIN = {
    "PRESET_ADMIN_NAME": "admin",
    "PRESET_ADMIN_EMAIL": "admin@example.org",
    "PRESET_ADMIN_PASSWORD": "a password",
    "PRESET_ADMIN_TOKEN": TOKEN,
}


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with BucketServer() as server:
        yield server


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, server: BucketServer) -> Iterator[Mapping[str, str]]:
    """Where a platform keeps files, as its environment says."""
    yield {} if request.param == "folder" else server.environment("2026")
    server.empty()


def set_up(platform: PlatformProcess) -> Person:
    """Set a platform up; its administrator."""
    Person(platform).submit(
        "/setup", ctf_name="Files", name="root", email="r@example.org", password="a password", user_mode="users"
    )
    return Person(platform, TOKEN)


class Upload:
    """An upload over a socket of its own, as fast or slow as the test wants it."""

    def __init__(self, platform: PlatformProcess, size: int) -> None:
        host, port = platform.base.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), DEADLINE)
        self._sha1 = hashlib.sha1(usedforsecurity=False)
        head = (
            f"POST /api/v1/files HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Token {TOKEN}\r\n"
            f"Content-Type: multipart/form-data; boundary=xx\r\nContent-Length: {len(HEAD) + size + len(TAIL)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + HEAD)

    def send(self, mebibytes: int) -> None:
        for number in range(mebibytes):
            piece = number.to_bytes(4, "big") * (MEBIBYTE // 4)
            self._sha1.update(piece)
            self._socket.sendall(piece)

    def end(self) -> tuple[bytes, str]:
        """The answer, and the SHA-1 of what was sent."""
        self._socket.sendall(TAIL)
        return self._socket.recv(65536), self._sha1.hexdigest()

    def close(self) -> None:
        self._socket.close()


def peak_mb(platform: PlatformProcess) -> float:
    """The most memory that the process has ever had, in megabytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{platform.process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def sha1_of(platform: PlatformProcess, location: str) -> str:
    """The SHA-1 of what curl downloads, wherever it is sent."""
    downloading = subprocess.run(
        ["curl", "--silent", "--fail", "--location", f"{platform.base}/files/{location}"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=DEADLINE,
    )
    return hashlib.sha1(downloading.stdout, usedforsecurity=False).hexdigest()


def test_what_was_uploaded_is_there_after_a_kill(tmp_path: Path, place: Mapping[str, str]) -> None:
    content = tmp_path / "a b.bin"
    content.write_bytes(bytes(range(256)) * 50_000)
    sha1 = hashlib.sha1(content.read_bytes(), usedforsecurity=False).hexdigest()
    with PlatformProcess(tmp_path, None, **ADMIN, **place) as platform:
        admin = set_up(platform)
        command = ["curl", "--silent", "--fail", "-H", f"Authorization: Token {TOKEN}", "-F", f"file=@{content}"]
        command.append(f"{platform.base}/api/v1/files")
        assert sha1 in subprocess.run(command, capture_output=True, check=True, timeout=DEADLINE, text=True).stdout
        platform.kill()
        platform.start()
        (file,) = admin.call("GET", "/files")
        assert file["sha1sum"] == sha1
        assert file["location"].endswith("/a_b.bin")
        assert sha1_of(platform, file["location"]) == sha1
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in platform.log.read_text()


def test_half_an_upload_is_nothing(tmp_path: Path, server: BucketServer, place: Mapping[str, str]) -> None:
    with PlatformProcess(tmp_path, None, **ADMIN, **place) as platform:
        admin = set_up(platform)
        folder = tmp_path / "data/uploads"

        def arrives() -> bool:
            waiting = [path.stat().st_size for path in folder.glob(".incoming/*")]
            return bool(server.uploads()) or any(size > 8 * MEBIBYTE for size in waiting)

        with closing(Upload(platform, LARGE)) as upload:
            upload.send(20)
            eventually(arrives, "a part of the upload arrives")
            platform.kill()
        platform.start()
        assert admin.call("GET", "/files") == []
        assert [path for path in folder.glob("*/*") if path.parent.name != ".incoming"] == []
        assert server.objects() == {}


def test_an_upload_needs_little_memory(tmp_path: Path, place: Mapping[str, str]) -> None:
    with PlatformProcess(tmp_path, None, **ADMIN, **place) as platform:
        admin = set_up(platform)
        before = peak_mb(platform)
        with closing(Upload(platform, LARGE)) as upload:
            upload.send(LARGE // MEBIBYTE)
            answer, sha1 = upload.end()
        assert answer.startswith(b"HTTP/1.1 200")
        assert peak_mb(platform) - before < LARGE / MEBIBYTE / 2
        (file,) = admin.call("GET", "/files")
        assert file["sha1sum"] == sha1
        assert sha1_of(platform, file["location"]) == sha1
        assert peak_mb(platform) - before < LARGE / MEBIBYTE / 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"AWS_S3_BUCKET": "no-such"}, "NoSuchBucket"),
        ({"AWS_S3_ENDPOINT_URL": "http://127.0.0.1:1"}, "Could not connect"),
    ],
)
def test_a_platform_without_its_bucket_does_not_start(
    tmp_path: Path, server: BucketServer, changes: dict[str, str], why: str
) -> None:
    environment = {**server.environment(), **changes}
    platform = PlatformProcess(tmp_path, None, **environment)
    Running.start(platform)
    try:
        assert platform.process.wait(DEADLINE) == 1
    finally:
        platform.kill()
    (line,) = re.findall(r"^ctfplatform: .*$", platform.printed, re.MULTILINE)
    assert re.fullmatch(rf"ctfplatform: uploads can't be kept: bucket '[\w-]+' can't be reached: {why}.*", line)
    assert "Traceback" not in platform.printed
    # A node that answers nobody keeps no files, and starts.
    with PlatformProcess(tmp_path, None, "--roles", "mail", **environment):
        pass


def test_boto3_is_not_imported_for_a_folder(tmp_path: Path) -> None:
    program = (
        "import sys; from twisted.internet.task import Clock; from ctfd_twisted.testing import MemoryPlatform;"
        "MemoryPlatform().close(); print([name for name in sys.modules if name.startswith('boto')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
