"""One large upload, into a folder and into a bucket that keeps nothing: how fast, and how much memory it takes."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from bench.goals import Goal, faults
from bench.server import Server
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate

MEBIBYTE: Final = 1 << 20
#: What the process may have in memory at most, in megabytes.
GOAL_MB: Final = 200
_TOKEN: Final = "ctfd_" + "0" * 64
_PRESET: Final = {
    "PRESET_ADMIN_NAME": "admin",
    "PRESET_ADMIN_EMAIL": "admin@example.org",
    "PRESET_ADMIN_PASSWORD": "of nobody",
    "PRESET_ADMIN_TOKEN": _TOKEN,
}
_HEAD: Final = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="image.iso"\r\n\r\n'
_TAIL: Final = b"\r\n--xx--\r\n"


class Measured(msgspec.Struct, frozen=True):
    """One upload: its size in bytes, how long it took, and the CPU seconds and megabytes of the platform."""

    size: int
    seconds: float
    cpu: float
    before_mb: float
    peak_mb: float
    right: bool


def measure(folder: Path, mebibytes: int) -> list[Goal]:
    """Measure and print."""
    content = folder / "content"
    with content.open("wb") as file:
        file.truncate(mebibytes * MEBIBYTE)  # a hole: to read it costs the machine next to nothing
    sha1 = _sha1_of(content)
    print(f"{'':<10}{'MiB':>8}{'s':>8}{'MB/s':>8}{'CPU s':>8}{'MB':>8}{'peak MB':>9}", flush=True)
    goals: list[Goal] = []
    with ExitStack() as stack:
        bucket = stack.enter_context(Server([sys.executable, "-m", "bench.bucket"], folder / "bucket.log"))
        places = {
            "folder": {},
            "bucket": {
                "CTFPLATFORM_UPLOADS": "s3://bench",
                "AWS_S3_ENDPOINT_URL": f"http://127.0.0.1:{bucket.port}",
                "AWS_S3_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "bench",
                "AWS_SECRET_ACCESS_KEY": "bench",
            },
        }
        for name, place in places.items():
            one = _upload(folder / name, content, sha1, place)
            print(
                f"{name:<10}{one.size // MEBIBYTE:>8}{one.seconds:>8.1f}{one.size / one.seconds / 1e6:>8.0f}"
                f"{one.cpu:>8.1f}{one.before_mb:>8.0f}{one.peak_mb:>9.0f}{'' if one.right else '  wrong answer'}",
                flush=True,
            )
            goals += [
                Goal(f"upload of {mebibytes} MiB into a {name}: memory at most", GOAL_MB, one.peak_mb, "MB"),
                faults(f"upload of {mebibytes} MiB into a {name}: wrong answers", int(not one.right)),
            ]
    return goals


def _sha1_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()


def _upload(folder: Path, content: Path, sha1: str, place: Mapping[str, str]) -> Measured:
    folder.mkdir()
    url, size = f"sqlite:///{folder}/bench.sqlite", content.stat().st_size
    engines = open_engines(url)
    migrate(engines.write_engine)
    with engines.write_engine.begin() as conn:
        write_config(conn, {"setup": "true", "ctf_name": "Bench", "user_mode": "users"})
    engines.close()
    twistd = [str(Path(sys.executable).with_name("twistd")), "--nodaemon", "--pidfile=", "ctfplatform"]
    where = ["--listen", "tcp:0:interface=127.0.0.1", "--data-dir", str(folder), "--database", url]
    limit = ["--upload-limit", str(size // MEBIBYTE + 1)]
    with Server([*twistd, *where, *limit], folder / "platform.log", environment={**_PRESET, **place}) as platform:
        before, cpu, begun = platform.memory_mb, platform.cpu_seconds, time.monotonic()
        answer = _send(platform.port, content)
        seconds = time.monotonic() - begun
        right = answer.startswith(b"HTTP/1.1 200") and sha1.encode() in answer
        return Measured(size, seconds, platform.cpu_seconds - cpu, before, platform.peak_mb, right)


def _send(port: int, content: Path) -> bytes:
    length = len(_HEAD) + content.stat().st_size + len(_TAIL)
    head = (
        f"POST /api/v1/files HTTP/1.1\r\nHost: bench\r\nAuthorization: Token {_TOKEN}\r\nConnection: close\r\n"
        f"Content-Type: multipart/form-data; boundary=xx\r\nContent-Length: {length}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as client, content.open("rb") as file:
        client.sendall(head.encode() + _HEAD)
        left, at = content.stat().st_size, 0
        while left:
            sent = os.sendfile(client.fileno(), file.fileno(), at, min(left, MEBIBYTE))
            at, left = at + sent, left - sent
        client.sendall(_TAIL)
        return b"".join(iter(lambda: client.recv(65536), b""))
