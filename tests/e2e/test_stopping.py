"""Claims about how a platform stops: what it was asked it answers, and nothing keeps it for ever."""

import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

from running import DEADLINE, Person, PlatformProcess, Running

from ctfd_twisted.ops.node import LAST, PATIENCE

#: How a process ends that was told to: with success, or by the signal itself.
ENDED = {0, -signal.SIGTERM}


def token_of_an_admin(platform: PlatformProcess) -> str:
    """Set a platform up; an access token of its administrator."""
    person = Person(platform)
    person.submit(
        "/setup", ctf_name="Ends", name="admin", email="a@example.org", password="a password", user_mode="users"
    )
    return str(person.call("POST", "/tokens", {})["value"])


def one_write(platform: PlatformProcess, token: str) -> bytes:
    """A request that needs the database's write lock."""
    return (
        f"POST /api/v1/tokens HTTP/1.1\r\nHost: {platform.base.removeprefix('http://')}\r\n"
        f"Authorization: Token {token}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    ).encode()


def connected(platform: PlatformProcess) -> socket.socket:
    """A connection to a platform."""
    host, port = platform.base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), DEADLINE)


def test_what_is_under_way_is_answered_and_the_connection_closed(tmp_path: Path) -> None:
    # Without services that would give the answer time to leave.
    with PlatformProcess(tmp_path, None, "--roles", "web") as platform:
        write = one_write(platform, token_of_an_admin(platform))
        file = tmp_path / "data/ctfplatform.sqlite"
        with closing(sqlite3.connect(file, isolation_level=None)) as other, connected(platform) as client:
            other.execute("BEGIN IMMEDIATE")
            client.sendall(write)
            # Whoever asks after it is answered, so it has been read by now, and waits for the lock.
            assert Person(platform).page("/login").status_code == 200
            platform.process.terminate()
            platform.wait_for(r"\(TCP Port \d+ Closed\)")
            other.execute("ROLLBACK")
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"\r\nConnection: close\r\n" in answer
        assert platform.process.wait(DEADLINE) in ENDED
        assert "Traceback" not in platform.printed


def test_a_lock_of_another_program_holds_up_nobodys_end(tmp_path: Path) -> None:
    file = tmp_path / "data/ctfplatform.sqlite"
    (tmp_path / "late").mkdir()
    late = PlatformProcess(tmp_path / "late", f"sqlite:///{file}")
    with PlatformProcess(tmp_path) as platform:
        write = one_write(platform, token_of_an_admin(platform))
        with closing(sqlite3.connect(file, isolation_level=None)) as other, connected(platform) as client:
            other.execute("BEGIN IMMEDIATE")
            client.sendall(write)
            assert Person(platform).page("/login").status_code == 200
            try:
                Running.start(late)
                late.wait_for("Waiting: another process")
                for one in (platform, late):
                    one.process.terminate()
                for one in (platform, late):
                    assert one.process.wait(PATIENCE + LAST + 3) in ENDED
            finally:
                late.kill()
    assert "Ready" not in late.printed
