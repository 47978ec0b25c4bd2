"""Real processes for end-to-end tests: a platform, an agent, a receiver of webhooks, and somebody who talks to them."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs, urlsplit

import jsonschema_rs
import requests

from ctfd_twisted.testing.conformance import Conformance

T = TypeVar("T")

BIN = Path(sys.executable).parent
#: Seconds after which what does not happen is taken to never happen.
DEADLINE = 60.0


def eventually(look: Callable[[], T | None], what: str, deadline: float = DEADLINE) -> T:
    """The first thing that *look* finds; fails with *what* was waited for."""
    ends = time.monotonic() + deadline
    while time.monotonic() < ends:
        found = look()
        if found:
            return found
        select.select([], [], [], 0.05)
    raise AssertionError(f"never happened: {what}")


class Crowd:
    """Threads that each do one *work*, which looks itself whether ``_over`` is set, while a ``with`` lasts."""

    def __init__(self, *work: Callable[[], object]) -> None:
        self._over = threading.Event()
        self._threads = [threading.Thread(target=one) for one in work]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


class Running:
    """A process, and what it prints."""

    def __init__(self, command: Sequence[str | Path], log: Path, **environment: str) -> None:
        self.log = log
        self._command = [str(part) for part in command]
        self._environment = {**os.environ, **environment}

    def start(self) -> Self:
        """Start it; what it prints is appended to the log."""
        self._begins = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=subprocess.STDOUT, env=self._environment, cwd=self.log.parent
            )
        return self

    @property
    def printed(self) -> str:
        """What it has printed since it was started last."""
        with self.log.open("rb") as log:
            log.seek(self._begins)
            return log.read().decode(errors="replace")

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match of *pattern* in what it prints."""

        def look() -> re.Match[str] | None:
            found = re.search(pattern, self.printed)
            if found is None and self.process.poll() is not None:
                raise AssertionError(f"{self._command[0]} ended:\n{self.printed}")
            return found

        return eventually(look, f"{pattern!r} in:\n{self.printed}")

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self) -> int:
        """End it as systemd would; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(DEADLINE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)


class PlatformProcess(Running):
    """``twistd ctfplatform`` on a port of its own."""

    def __init__(self, folder: Path, database: str | None = None, *options: str, **environment: str) -> None:
        place: list[str | Path] = ["--database", database] if database else []
        command: list[str | Path] = [
            BIN / "twistd",
            "--nodaemon",
            "--pidfile=",
            "ctfplatform",
            "--data-dir",
            folder / "data",
            *place,
        ]
        listen = ["--listen", "tcp:0:interface=127.0.0.1"]
        super().__init__([*command, *listen, *options], folder / "platform.log", **environment)

    def start(self) -> Self:
        """Start it and wait until it is ready."""
        super().start()
        self.wait_for(r"\bReady\b")
        return self

    @property
    def base(self) -> str:
        """Where it answers."""
        return self.wait_for(r"Listening on (http://127\.0\.0\.1:\d+)")[1]

    @cached_property
    def conformance(self) -> Conformance:
        """What holds answers to the document that this platform gives of its API."""
        document = requests.get(f"{self.base}/api/v1/openapi.json", timeout=20).json()
        return Conformance(document, jsonschema_rs.Draft202012Validator)


class Person:
    """Somebody with a browser, or, given a token, with a script."""

    def __init__(self, platform: PlatformProcess, token: str | None = None) -> None:
        self._platform = platform
        self._session = requests.Session()
        if token is not None:
            self._session.headers["Authorization"] = f"Token {token}"

    def page(self, path: str) -> requests.Response:
        """GET a page."""
        return self._session.get(self._platform.base + path, timeout=20)

    def submit(self, path: str, **fields: str) -> requests.Response:
        """Fill in the form at *path* and send it; redirects are followed."""
        nonce = self._nonce(path)
        return self._session.post(
            self._platform.base + path, {"nonce": nonce, "_submit": "Submit", **fields}, timeout=20
        )

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One call of the REST API that must succeed; its ``data``."""
        answer = self.raw(method, path, body)
        assert answer.status_code == 200, (method, path, answer.status_code, answer.text)
        return answer.json().get("data")

    def raw(self, method: str, path: str, body: Any = None) -> requests.Response:
        """One call of the REST API; fails where its document does not tell of the answer."""
        headers = {"Content-Type": "application/json"}
        if "Authorization" not in self._session.headers and method != "GET":
            headers["CSRF-Token"] = self._nonce("/settings")
        data = None if body is None else json.dumps(body)
        answer = self._session.request(
            method, f"{self._platform.base}/api/v1{path}", data=data, headers=headers, timeout=20
        )
        first = (*answer.history, answer)[0]  # what it may lead to is a page
        content_type = first.headers.get("Content-Type")
        self._platform.conformance.check(method, f"/api/v1{path}", first.status_code, content_type, first.content)
        return answer

    def _nonce(self, path: str) -> str:
        found = re.search(r"csrfNonce': \"([a-f0-9]{64})\"", self.page(path).text)
        assert found is not None, f"no nonce at {path}"
        return found[1]


class Receiver:
    """A receiver of webhooks: answers the validation, and keeps every event as it came."""

    def __init__(self, answer_with: Callable[[str], str]) -> None:
        self.events: list[tuple[dict[str, str], bytes]] = []
        #: Events wait here while it is not set, as at a receiver that hangs.
        self.open = threading.Event()
        self.open.set()
        #: Set while an event waits.
        self.waiting = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                token = parse_qs(urlsplit(self.path).query)["token"][0]
                self._answer(json.dumps({"response": answer_with(token)}).encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.waiting.set()
                if not receiver.open.wait(DEADLINE):
                    return
                receiver.events.append((dict(self.headers), body))
                self._answer(b"{}")

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()

    def named(self, event: str) -> list[tuple[dict[str, str], bytes]]:
        """The events of one name that have come."""
        return [one for one in list(self.events) if one[0].get("Service-Webhook-Event") == event]
