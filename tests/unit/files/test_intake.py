"""Claims about large bodies on their way to the disk, byte for byte."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransportWithDisconnection

from ctfd_twisted.files.disk import StagedFile
from ctfd_twisted.http.server import BODY_LIMIT, QuietSite
from ctfd_twisted.testing import MemoryPlatform

Done = Callable[[bool, Any], None]
PATH = "/api/v1/files"
LIMIT = 3 * BODY_LIMIT
HEAD = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
TAIL = b"\r\n--xx--\r\n"


class Connection:
    """A client's end."""

    def __init__(self, site: QuietSite) -> None:
        self._channel: Any = site.buildProtocol(None)
        self.transport: Any = StringTransportWithDisconnection()
        self.transport.protocol = self._channel
        self._channel.makeConnection(self.transport)

    def begin(self, length: int | None, token: str | None, path: str = PATH) -> None:
        """Send the head of an upload."""
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        lines = [f"POST {path} HTTP/1.1", "Host: x", size, "Content-Type: multipart/form-data; boundary=xx"]
        if token is not None:
            lines.append(f"Authorization: Token {token}")
        self.send("\r\n".join([*lines, "", ""]).encode())

    def send(self, data: bytes) -> None:
        self._channel.dataReceived(data)

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    @property
    def got(self) -> bytes:
        return bytes(self.transport.value())

    @property
    def status(self) -> int:
        return int(self.got.split()[1])

    @property
    def open(self) -> bool:
        return bool(self.transport.connected)


class Threads:
    """Does work when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Done]] = []
        self.held = False

    def start(self, work: Callable[[], Any], done: Done) -> None:
        self.waiting.append((work, done))
        if not self.held:
            self.go()

    def go(self) -> None:
        while self.waiting:
            work, done = self.waiting.pop(0)
            done(True, work())


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def held_platform(uploads: Path, threads: Threads) -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform(uploads=uploads, upload_limit=LIMIT, file_in=threads.start).setup()
    yield platform
    platform.close()


@pytest.fixture
def site(held_platform: MemoryPlatform) -> Iterator[QuietSite]:
    parts = held_platform.platform
    site = QuietSite(parts.resource, Clock(), parts.intake)
    site.doStart()
    yield site
    site.doStop()


@pytest.fixture
def token(held_platform: MemoryPlatform) -> str:
    return held_platform.admin().token or ""


def stored(uploads: Path) -> list[Path]:
    return [path for path in uploads.rglob("*") if path.is_file()]


def test_a_body_beyond_the_usual_goes_to_the_disk_as_it_comes(site: QuietSite, token: str, uploads: Path) -> None:
    connection = Connection(site)
    body = b"0123456789abcdef" * (BODY_LIMIT // 8)
    connection.begin(len(HEAD) + len(body) + len(TAIL), token)
    connection.send(HEAD + body)
    (staged,) = stored(uploads)
    assert staged.stat().st_size > len(body) - 2**20
    connection.send(TAIL)
    assert connection.status == 200
    (kept,) = stored(uploads)
    assert kept.read_bytes() == body
    assert kept != staged
    connection.send(b"GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n")
    assert connection.got.count(b"HTTP/1.1 ") == 2


def test_chunks_are_taken_too(site: QuietSite, token: str, uploads: Path) -> None:
    connection = Connection(site)
    connection.begin(None, token)
    for piece in (HEAD, b"x" * 1000, TAIL, b""):
        connection.chunk(piece)
    assert connection.status == 200
    assert [path.read_bytes() for path in stored(uploads)] == [b"x" * 1000]


@pytest.mark.parametrize("body", [b"nothing", HEAD + b"x", HEAD[:20]])
def test_a_body_that_is_no_form_is_refused_and_leaves_nothing(
    site: QuietSite, token: str, uploads: Path, body: bytes
) -> None:
    connection = Connection(site)
    connection.begin(len(body), token)
    connection.send(body)
    assert connection.status == 400
    assert b"The form can't be read" in connection.got
    assert stored(uploads) == []


def test_a_defect_on_the_way_is_no_empty_upload(
    site: QuietSite, token: str, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(_file: object, _data: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(StagedFile, "write", break_down)
    connection = Connection(site)
    connection.begin(len(HEAD) + 1 + len(TAIL), token)
    connection.send(HEAD + b"x" + TAIL)
    assert connection.status == 500
    assert stored(uploads) == []


def test_nothing_is_read_ahead_of_a_slow_disk(site: QuietSite, token: str, threads: Threads) -> None:
    connection = Connection(site)
    connection.begin(LIMIT, token)
    threads.held = True
    connection.send(HEAD)
    assert connection.transport.producerState == "producing"
    for _ in range(4):
        connection.send(b"x" * 2**16)
    assert connection.transport.producerState == "paused"
    threads.held = False
    threads.go()
    assert connection.transport.producerState == "producing"
    connection.transport.loseConnection()


def test_a_client_that_goes_away_leaves_nothing(site: QuietSite, token: str, uploads: Path, threads: Threads) -> None:
    connection = Connection(site)
    connection.begin(LIMIT, token)
    connection.send(HEAD + b"x" * 2**16)
    assert len(stored(uploads)) == 1
    threads.held = True
    connection.send(b"x" * 2**16)
    connection.transport.loseConnection()
    threads.held = False
    threads.go()
    assert list((uploads / ".incoming").iterdir()) == []


def test_a_client_that_goes_away_at_the_end_leaves_all_or_nothing(
    site: QuietSite, token: str, uploads: Path, threads: Threads
) -> None:
    connection = Connection(site)
    connection.begin(len(HEAD) + 1 + len(TAIL), token)
    threads.held = True
    connection.send(HEAD + b"x" + TAIL)
    connection.transport.loseConnection()
    threads.held = False
    threads.go()
    assert list((uploads / ".incoming").iterdir()) == []


def test_strangers_bodies_are_held_to_the_usual_bound_and_forgotten(
    site: QuietSite, held_platform: MemoryPlatform, uploads: Path
) -> None:
    for who in (None, held_platform.player("ann").token, "ctfd_unknown"):
        connection = Connection(site)
        connection.begin(len(HEAD) + 1 + len(TAIL), who)
        connection.send(HEAD + b"x" + TAIL)
        assert connection.status == (401 if who == "ctfd_unknown" else 403)
        announced = Connection(site)
        announced.begin(LIMIT, who)
        assert (announced.status, announced.open) == (413, False)
        assert b"%d bytes" % BODY_LIMIT in announced.got
        connection = Connection(site)
        connection.begin(None, who)
        connection.chunk(HEAD + b"x" * BODY_LIMIT)
        assert (connection.status, connection.open) == (413, False)
    assert not uploads.exists()


def test_a_body_beyond_the_limit_of_uploads_is_refused(site: QuietSite, token: str, uploads: Path) -> None:
    announced = Connection(site)
    announced.begin(LIMIT + 1, token)
    assert (announced.status, announced.open) == (413, False)
    assert b"%d bytes" % LIMIT in announced.got
    unannounced = Connection(site)
    unannounced.begin(None, token)
    for piece in (HEAD, *[b"x" * BODY_LIMIT] * 3):
        unannounced.chunk(piece)
    assert (unannounced.status, unannounced.open) == (413, False)
    assert stored(uploads) == []


def test_other_paths_keep_the_usual_bound(site: QuietSite, token: str) -> None:
    connection = Connection(site)
    connection.begin(BODY_LIMIT + 1, token, path="/api/v1/challenges")
    assert connection.status == 413
