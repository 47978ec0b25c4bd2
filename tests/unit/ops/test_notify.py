"""Claims about what a supervisor is told; the supervisor is a real datagram socket."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctfd_twisted.ops.notify import READY, STOPPING, notify


@pytest.fixture
def supervisor() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.setblocking(False)
        yield channel


def test_a_supervisor_is_told(supervisor: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor.bind(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    assert notify(READY)
    assert notify(STOPPING)
    assert [supervisor.recv(100), supervisor.recv(100)] == [b"READY=1", b"STOPPING=1"]


def test_a_supervisor_on_an_abstract_socket_is_told(supervisor: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor.bind("")  # Linux chooses an abstract name
    monkeypatch.setenv("NOTIFY_SOCKET", "@" + supervisor.getsockname()[1:].decode())
    assert notify(READY)
    assert supervisor.recv(100) == b"READY=1"


def test_without_a_supervisor_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify(READY)


def test_a_supervisor_that_is_gone_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nowhere"))
    assert not notify(READY)
