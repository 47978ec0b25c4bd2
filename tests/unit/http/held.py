"""A platform whose threads work when the test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from twisted.internet.testing import StringTransportWithDisconnection

from ctfd_twisted.db.database import Done, start_inline
from ctfd_twisted.http.server import QuietSite
from ctfd_twisted.testing import Client, MemoryPlatform


class HeldThreads:
    """What *asker* asks *platform* from now on waits for threads until the test lets them work."""

    def __init__(self, platform: MemoryPlatform, asker: Client) -> None:
        self._platform = platform
        self._asker = asker
        self.pending: list[tuple[Callable[[], Any], Done]] = []
        for turns in (platform.db._read_turns, platform.db._write_turns):
            turns._start = lambda work, done: self.pending.append((work, done))

    def work(self) -> None:
        """Let the threads do all that waits, until nothing does."""
        while self.pending:
            start_inline(*self.pending.pop(0))

    def ask(self, method: str, path: str, body: object = None) -> StringTransportWithDisconnection:
        """Ask over a connection of its own."""
        channel = QuietSite(self._platform.platform.resource, self._platform.clock).buildProtocol(None)
        transport: Any = StringTransportWithDisconnection()
        transport.protocol = channel
        channel.makeConnection(transport)
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token {self._asker.token}\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        channel.dataReceived(head.encode() + kind.encode() + content)
        return transport  # type: ignore[no-any-return]
