"""Agents that run: what they print, where they listen, how they end."""

import hashlib
import hmac
import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Run, Start

ALICE = b'{"success":true,"data":{"identifier":"alice"}}'


@pytest.fixture(autouse=True)
def owner_file(tmp_path: Path) -> Path:
    path = tmp_path / "owner.txt"
    path.write_text(" alice\n")
    return path


def test_it_says_where_it_listens_and_how_then_answers(start: "Start", command: list[str]) -> None:
    agent = start(command=command)
    assert agent.lines == [f"Listening on 127.0.0.1:{agent.port}", "Running without encryption"]
    assert agent.port != 0
    status = agent.ask("/status")
    assert (status.status, status.body, status.headers["Content-Type"]) == (200, ALICE, "application/json")
    health = agent.ask("/healthcheck")
    assert (health.status, health.body) == (200, b'{"success":true,"data":{"stdout":"","stderr":"","status":0}}')


def test_keys_are_asked_for_and_answers_signed(start: "Start", command: list[str]) -> None:
    agent = start("-apikey", "hush", command=command)
    assert agent.ask("/status").status == 401
    for value in ("wrong", "Bearer hush", "Token wrong", ""):
        reply = agent.ask("/status", Authorization=value)
        assert (reply.status, reply.body) == (401, b"Unauthorized")
        assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    for value in ("hush", "Token hush"):
        reply = agent.ask("/status", authorization=value, KoTH_Nonce="n0nce")
        assert (reply.status, reply.body) == (200, ALICE)
        expected = hmac.new(b"hush", b"n0nce." + ALICE, hashlib.sha256).hexdigest()
        assert reply.headers["KoTH-Signature"] == f"v1={expected}"
    assert agent.ask("/nothing", authorization="hush").status == 404
    reply = agent.ask("/status", "DELETE", authorization="hush")
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("source", ["file", "environment"])
def test_the_key_need_not_stand_in_the_process_list_nor_in_any_log(
    start: "Start", tmp_path: Path, command: list[str], source: str
) -> None:
    (tmp_path / "key").write_text("hush-hush\n")
    agent = (
        start("-apikey-file", "key", command=command)
        if source == "file"
        else start(command=command, environment={"KOTHAGENT_APIKEY": "hush-hush"})
    )
    assert agent.ask("/status").status == 401
    assert agent.ask("/status?key=hush-hush", Authorization="hush-hush").status == 200
    assert b"hush-hush" not in Path(f"/proc/{agent.process.pid}/cmdline").read_bytes()
    agent.stop()
    assert agent.process.stdout is not None
    assert "hush-hush" not in agent.process.stdout.read() + agent.errors.read_text()


def test_commands_do_not_inherit_the_key(start: "Start") -> None:
    agent = start("-health-cmd", "env", environment={"KOTHAGENT_APIKEY": "hush", "OTHER": "kept"})
    output = agent.ask("/healthcheck", Authorization="hush").json()["data"]["stdout"]
    assert "OTHER=kept" in output
    assert "hush" not in output


def test_ipv4_that_comes_over_ipv6_is_judged_as_ipv4(start: "Start") -> None:
    agent = start("-host", "::", "-origin", "127.0.0.0/8")
    assert agent.lines[0] == f"Listening on [::]:{agent.port}"
    agent.host = "127.0.0.1"
    assert agent.ask("/status").status == 200
    agent.host = "::1"
    reply = agent.ask("/status")
    assert (reply.status, reply.body, reply.headers["Content-Type"]) == (403, b"Forbidden", "text/plain")


def test_it_listens_on_any_endpoint(start: "Start", command: list[str]) -> None:
    agent = start("-listen", "tcp:0:interface=127.0.0.1", command=command)
    assert agent.lines == [f"Listening on 127.0.0.1:{agent.port}", "Running without encryption"]
    assert agent.ask("/status").body == ALICE


def test_a_unix_socket_has_no_origin(start: "Start", tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    agent = start("-listen", f"unix:{path}", "-origin", "10.0.0.0/8")
    assert agent.lines == [f"Listening on {path}", "Running without encryption"]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET /status HTTP/1.0\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.endswith(ALICE)


def test_an_address_that_is_taken_is_one_line(start: "Start", refusal: Any, command: list[str]) -> None:
    agent = start()
    line = refusal("-host", "127.0.0.1", "-port", str(agent.port), command=command)
    assert line == f"kothagent: host '127.0.0.1', port {agent.port}: Address already in use"
    line = refusal("-listen", f"tcp:{agent.port}:interface=127.0.0.1", command=command)
    assert line.startswith(f"kothagent: listen 'tcp:{agent.port}:interface=127.0.0.1': Couldn't listen on ")


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_stop_it_stops(start: "Start", by: signal.Signals) -> None:
    # Under nohup, SIGHUP is ignored from the start, and a child inherits that.
    before = signal.signal(by, signal.SIG_DFL) if signal.getsignal(by) is signal.SIG_IGN else None
    try:
        agent = start()
    finally:
        if before is not None:
            signal.signal(by, before)
    assert agent.ask("/status").status == 200  # signals are heeded from when requests are
    agent.process.send_signal(by)
    assert agent.process.wait(10) == 0
    assert "Traceback" not in agent.errors.read_text()


def test_as_a_daemon_it_prints_the_same_lines_before_it_goes_away(run: "Run", tmp_path: Path) -> None:
    options = ["--pidfile=pid", "--logfile=log", "kothagent", "-port", "0", "-host", "127.0.0.1"]
    ended = run("twistd", *options, folder=tmp_path)
    daemon = os.pidfd_open(int((tmp_path / "pid").read_text()))
    try:
        first, second = ended.stdout.splitlines()
        assert (second, ended.stderr) == ("Running without encryption", "")
        host, port = first.removeprefix("Listening on ").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"GET /status HTTP/1.0\r\n\r\n")
            assert b"".join(iter(lambda: connection.recv(1000), b"")).endswith(ALICE)
        assert "Answering for owner.txt" in (tmp_path / "log").read_text()
    finally:
        signal.pidfd_send_signal(daemon, signal.SIGTERM)
        os.close(daemon)


def test_a_slow_or_silent_client_keeps_nobody_waiting(start: "Start") -> None:
    agent = start()
    silent = [socket.create_connection((agent.host, agent.port)) for _ in range(100)]
    try:
        silent[0].sendall(b"GET /sta")
        assert agent.ask("/status").body == ALICE
    finally:
        for connection in silent:
            connection.close()
