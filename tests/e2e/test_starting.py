"""Claims about how ``twistd ctfplatform`` starts: refusals in one line, and what a service manager is told."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from running import BIN, DEADLINE

TWISTD: list[str | Path] = [BIN / "twistd", "--nodaemon", "--pidfile=", "ctfplatform"]


def refusal(folder: Path, *options: str, **environment: str) -> str:
    """The one line on standard error of a start that fails."""
    done = subprocess.run(
        [*TWISTD, "--data-dir", folder / "data", *options],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nonsense"], "option --nonsense not recognized"),
        (["--listen", "tcp:eighty"], "--listen: expected a port from 0 to 65535; found 'tcp:eighty' (command line)"),
        (["--trusted-proxies", "10.0.0.0/99"], "--trusted-proxies: expected addresses or CIDR ranges"),
        (["--config", "/nowhere.toml"], "--config: expected a readable file (No such file or directory)"),
    ],
)
def test_a_wrong_setting_is_one_line_and_status_1(tmp_path: Path, options: list[str], said: str) -> None:
    assert said in refusal(tmp_path, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    assert "--roles: expected one or more of" in refusal(tmp_path, CTFPLATFORM_ROLES="web,cook")


def test_a_port_that_is_taken_is_one_line_and_status_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = f"tcp:{taken.getsockname()[1]}:interface=127.0.0.1"
        assert f"--listen {listener}: cannot listen: " in refusal(tmp_path, "--listen", listener)


def test_a_socket_that_systemd_has_not_passed_on_is_one_line_and_status_1(tmp_path: Path) -> None:
    listener = "systemd:domain=INET:name=web"
    said = f"--listen {listener}: cannot listen: systemd has passed on no such socket"
    assert said in refusal(tmp_path, "--listen", listener)


def test_a_database_that_does_not_answer_is_one_line_and_status_1(tmp_path: Path) -> None:
    line = refusal(tmp_path, "--listen", "tcp:0", "--database", "postgresql://ctf:geheim@127.0.0.1:1/ctf")
    assert "the database can't be opened" in line
    assert "geheim" not in line


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket on which a service manager is told how the platform is."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(DEADLINE)
        yield channel


#: Becomes the command that follows, with a descriptor passed on as systemd does: as 3, to this process id.
ACTIVATE = """
import os, sys
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="web")
os.dup2(int(sys.argv[1]), 3)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_service_manager_gives_the_socket_and_is_told(tmp_path: Path, supervisor: socket.socket) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    # High enough not to be in the way of 3, and inherited as it is.
    passed = os.dup2(listening.fileno(), 100, inheritable=True)
    listen = ["--listen", "systemd:domain=INET:name=web"]
    command = [sys.executable, "-c", ACTIVATE, str(passed), *TWISTD, "--data-dir", tmp_path / "data", *listen]
    # Somebody connects before there is a platform: the kernel keeps them until it answers.
    early = socket.create_connection(address)
    early.sendall(b"GET /healthcheck HTTP/1.0\r\n\r\n")
    environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
    with subprocess.Popen(command, pass_fds=(passed,), env=environment, stdout=subprocess.PIPE, text=True) as platform:
        os.close(passed)
        listening.close()
        try:
            assert supervisor.recv(100) == b"READY=1"
            assert early.recv(100).startswith(b"HTTP/1.0 200")
            base = "http://{}:{}".format(*address)
            assert requests.get(f"{base}/readyz", timeout=DEADLINE).status_code == 200
            platform.terminate()
            assert supervisor.recv(100) == b"STOPPING=1"
            assert f"Listening on {base}" in platform.communicate(timeout=DEADLINE)[0]
        finally:
            platform.kill()
            early.close()
