"""The examples of proxies and of three nodes: the programs take what they say, and HAProxy does what it is for."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import psycopg
import pytest
import requests
from nodes import Node, started
from organiser import set_up
from running import Crowd, Running, eventually

from ctfd_twisted.settings.reading import read_configuration
from tests.conftest import PostgreSQL

ETC = Path(__file__).parents[2] / "etc"
HAPROXY, NGINX, SYSTEMD = (
    shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("haproxy", "nginx", "systemd-analyze")
)
NAME = "ctf.example.org"


def needs_haproxy(test: Callable[..., None]) -> Callable[..., None]:
    """*test* with real nodes and a real HAProxy."""
    without = pytest.mark.skipif(HAPROXY is None, reason="there is no HAProxy here")
    return pytest.mark.postgresql(without(test))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of its own and its key in one file, as HAProxy wants them, and nginx takes them, too."""
    folder = tmp_path_factory.mktemp("certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    names = ["-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run([*command, *names, "-keyout", "key", "-out", "cert"], cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "cert").read_bytes() + (folder / "key").read_bytes())
    return both


def example(certificate: Path, folder: Path) -> str:
    """The example for HAProxy, on this machine."""
    text = (ETC / "haproxy.cfg").read_text()
    for there, here in (
        ("/etc/haproxy/ctf.example.org.pem", str(certificate)),
        ("/run/haproxy/admin.sock", str(folder / "admin.sock")),
        ("log /dev/log local0", "log stdout format raw local0"),
        ("maxconn 40000", "maxconn 400"),
    ):
        assert there in text
        text = text.replace(there, here)
    return text


@pytest.mark.skipif(HAPROXY is None, reason="there is no HAProxy here")
def test_haproxy_takes_its_example(certificate: Path, tmp_path: Path) -> None:
    (tmp_path / "haproxy.cfg").write_text(example(certificate, tmp_path))
    done = subprocess.run(
        [str(HAPROXY), "-c", "-f", tmp_path / "haproxy.cfg"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


@pytest.mark.skipif(NGINX is None, reason="there is no nginx here")
def test_nginx_takes_its_example(certificate: Path, tmp_path: Path) -> None:
    text = re.sub(r"/etc/letsencrypt/live/\S+\.pem", str(certificate), (ETC / "nginx.conf").read_text())
    (tmp_path / "site.conf").write_text(text)
    logs = f"pid {tmp_path}/pid; error_log {tmp_path}/error.log;"
    (tmp_path / "nginx.conf").write_text(f"{logs} events {{}} http {{ access_log off; include site.conf; }}")
    command: list[str | Path] = [str(NGINX), "-t", "-c", tmp_path / "nginx.conf", "-p", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(SYSTEMD is None, reason="there is no systemd here")
def test_systemd_takes_the_units_with_what_a_node_adds(tmp_path: Path) -> None:
    for kind in ("service", "socket"):
        name = f"ctfd-platform.{kind}"
        # Where the platform is installed is another place here.
        (tmp_path / name).write_text(
            (ETC / name).read_text().replace("/opt/ctfd-platform/venv/bin/twistd", "/bin/true")
        )
        (tmp_path / f"{name}.d").mkdir()
        shutil.copy(ETC / "three-nodes" / f"node.{kind}.conf", tmp_path / f"{name}.d" / "node.conf")
    units = [tmp_path / "ctfd-platform.service", tmp_path / "ctfd-platform.socket"]
    done = subprocess.run([str(SYSTEMD), "verify", *units], capture_output=True, text=True, check=False)
    assert "ctfd-platform" not in done.stderr, done.stderr


def test_the_platform_takes_the_configuration_of_three_nodes(tmp_path: Path) -> None:
    toml = str(ETC / "three-nodes" / "ctf.toml")
    environment = re.findall(
        r"^Environment=(CTFPLATFORM_\w+)=(.+)$", (ETC / "three-nodes/node.service.conf").read_text(), re.MULTILINE
    )
    found = read_configuration({"config": toml, "data-dir": str(tmp_path)}, dict(environment), create=False).settings
    assert found.database.startswith("postgresql+psycopg://ctf@10.0.0.20/")
    assert found.metrics == "tcp:9464:interface=10.0.0.11"
    assert [str(network) for network in found.trusted_proxies] == ["10.0.0.10/32"]


def test_three_nodes_have_connections_enough() -> None:
    """What each process may take at once, in the example, is what the server of the example allows."""
    workers = int(re.findall(r"^workers = (\d+)", (ETC / "three-nodes/ctf.toml").read_text(), re.MULTILINE)[0])
    allowed = int(
        re.findall(r"^max_connections = (\d+)", (ETC / "three-nodes/postgresql.conf").read_text(), re.MULTILINE)[0]
    )
    assert allowed >= 4 * (workers + 1) * 9


class HAProxy(Running):
    """HAProxy of the example before nodes of this machine, and somebody who asks through it."""

    def __init__(self, folder: Path, text: str, certificate: Path) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.tls, self.plain = (one.getsockname()[1] for one in self._sockets)
        places = {":443 ": f"fd@{self._sockets[0].fileno()} ", ":80\n": f"fd@{self._sockets[1].fileno()}\n"}
        for there, here in {**places, "127.0.0.1:8405": f"unix@{folder}/figures.sock"}.items():
            assert f"bind {there}" in text
            text = text.replace(f"bind {there}", f"bind {here}")
        (folder / "haproxy.cfg").write_text(text)
        super().__init__([str(HAPROXY), "-db", "-f", folder / "haproxy.cfg"], folder / "haproxy.log")
        self._context = ssl.create_default_context(cafile=str(certificate))

    def start(self) -> Self:
        """Start it with the sockets that were opened for it."""
        with self.log.open("wb") as log:
            numbers = [one.fileno() for one in self._sockets]
            self.process = subprocess.Popen(self._command, stdout=log, stderr=subprocess.STDOUT, pass_fds=numbers)
        for one in self._sockets:
            one.close()
        return self

    def open(self, path: str, *headers: str) -> ssl.SSLSocket:
        """A connection of its own, on which *path* was asked for."""
        plain = socket.create_connection(("127.0.0.1", self.tls), timeout=30)
        connection = self._context.wrap_socket(plain, server_hostname=NAME)
        lines = [f"GET {path} HTTP/1.1", f"Host: {NAME}", "Connection: close", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return connection

    def ask(self, path: str, *headers: str) -> tuple[int, str]:
        """Status and the whole answer."""
        with self.open(path, *headers) as connection:
            answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
        return int(answer.split(" ", 2)[1]), answer


class Proxied:
    """Three nodes, HAProxy before them, and the token of the administrator."""

    def __init__(self, nodes: list[Node], database: str, haproxy: HAProxy, token: str) -> None:
        self.nodes, self.database, self.haproxy = nodes, database, haproxy
        self.signed_in = (f"Authorization: Token {token}", "Content-Type: application/json")

    def ready(self, node: Node) -> bool:
        """Whether HAProxy sends requests to *node*."""
        before = node.figure("ctfplatform_requests_total")
        for _ in range(6):
            self.haproxy.ask("/api/v1/challenges", *self.signed_in)
        return node.figure("ctfplatform_requests_total") > before


@pytest.fixture(scope="module")
def proxied(postgresql: PostgreSQL, certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    name, folder = postgresql.create(), tmp_path_factory.mktemp("proxied")
    with started(folder, postgresql.url(name), 3, "--trusted-proxies", "127.0.0.1") as nodes:
        text = example(certificate, folder)
        for number, node in enumerate(nodes, 1):
            text = text.replace(f"10.0.0.1{number}:8000", node.base.removeprefix("http://"))
        with HAProxy(folder, text, certificate) as haproxy:
            eventually(lambda: haproxy.ask("/healthcheck")[0] == 200, "HAProxy has found the nodes")
            yield Proxied(nodes, postgresql.url(name), haproxy, set_up(nodes[0]))
    postgresql.drop(name)


@needs_haproxy
def test_who_comes_without_tls_is_sent_to_it(proxied: Proxied) -> None:
    url = f"http://127.0.0.1:{proxied.haproxy.plain}/login"
    answer = requests.get(url, headers={"Host": NAME}, allow_redirects=False, timeout=20)
    assert (answer.status_code, answer.headers["Location"]) == (308, f"https://{NAME}/login")


@needs_haproxy
def test_the_platform_knows_what_haproxy_knows_and_not_what_clients_say(proxied: Proxied) -> None:
    lies = "X-Forwarded-For: 6.6.6.6", "X-Forwarded-Proto: http", "X-Forwarded-Host: evil.example"
    _, page = proxied.haproxy.ask("/login", *lies)
    assert re.search(r"(?i)^set-cookie: session=.*; secure", page, re.MULTILINE)
    assert "evil.example" not in page
    assert proxied.haproxy.ask("/api/v1/challenges", *proxied.signed_in, *lies)[0] == 200

    def addresses() -> set[str]:
        with psycopg.connect(proxied.database.replace("+psycopg", "")) as conn:
            return {str(row[0]) for row in conn.execute("SELECT ip FROM tracking")}

    assert eventually(addresses, "the address is noted") == {"127.0.0.1"}


@needs_haproxy
def test_events_come_through_as_they_happen(proxied: Proxied) -> None:
    with proxied.haproxy.open("/events", *proxied.signed_in) as stream:
        heard = ""
        while "event:ping" not in heard:
            piece = stream.recv(65536).decode()
            assert piece, heard
            heard += piece
    assert "text/event-stream" in heard


class Load(Crowd):
    """Readers through HAProxy until they are told to stop; the statuses that they saw."""

    def __init__(self, proxied: Proxied) -> None:
        self._proxied = proxied
        super().__init__(*[self._read] * 3)
        self.statuses: Counter[int] = Counter()

    def _read(self) -> None:
        while not self._over.is_set():
            self.statuses[self._proxied.haproxy.ask("/api/v1/challenges", *self._proxied.signed_in)[0]] += 1


@needs_haproxy
def test_one_node_is_replaced_and_another_is_killed(proxied: Proxied) -> None:
    """Who reads meanwhile is not refused, neither by a rolling upgrade nor, but for what was under way, by a death."""
    first, second, _ = proxied.nodes
    eventually(lambda: all(proxied.ready(node) for node in proxied.nodes), "all are asked")
    with Load(proxied) as load:
        assert first.stop() in {0, -signal.SIGTERM}
        seen = load.statuses.total()
        eventually(lambda: load.statuses.total() > seen + 20, "the others answer")
    assert set(load.statuses) == {200}
    second.kill()
    assert {proxied.haproxy.ask("/api/v1/challenges", *proxied.signed_in)[0] for _ in range(40)} == {200}
