"""How many connections a process takes, and what the one more is told.

A connection is an open file. A process that has used up its own can't open its database or a picture any more, and
accepts nobody without saying so. So it counts, and keeps some for itself.
"""

from __future__ import annotations

import resource
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

#: So many open files are kept for the database, for uploads, hills and mail.
OWN: Final = 200
#: More connections than this are not taken in any case: each takes some ten kilobytes.
MOST: Final = 20_000
#: So many are told at a time that there is no room; more are hung up on.
TOLD: Final = 100
#: Seconds that somebody who is told has to ask something first.
PATIENCE: Final = 2
#: After so many seconds they may come back.
LATER: Final = 5

_TEXT: Final = b"The server has too many connections at the moment. Please try again shortly.\n"
FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: %d\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (LATER, len(_TEXT), _TEXT)
)


def room() -> int:
    """How many connections this process may take, by the open files that it is allowed (``ulimit -n``)."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST
    return min(MOST, max(allowed // 2, allowed - OWN - TOLD))


class Turned(Protocol):
    """A connection for which there is no room: 503 to what it asks first, and its end."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._impatience: IDelayedCall | None = None
        self._answered = False

    def connectionMade(self) -> None:
        """Wait for a request: an answer before it would be lost when the connection is closed over it."""
        self._impatience = self._crowd.clock.callLater(PATIENCE, self._cut)

    def dataReceived(self, data: bytes) -> None:  # noqa: ARG002 - whatever it is
        """Answer, once."""
        transport: Any = self.transport
        if not self._answered:
            self._answered = True
            transport.write(FULL)
            transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: ARG002 - Twisted's signature
        """Be forgotten."""
        if self._impatience is not None and self._impatience.active():
            self._impatience.cancel()
        self._crowd.told -= 1

    def _cut(self) -> None:
        transport: Any = self.transport
        transport.abortConnection()


class Crowd:
    """Counts, and says in the log when there is no room, and when there is again."""

    _log = Logger()

    def __init__(self, clock: IReactorTime, most: int) -> None:
        self.clock = clock
        self.most = most
        self.told = 0
        self._full = False

    def takes(self, connections: int) -> bool:
        """Whether there is room for one more beside so many *connections*."""
        if connections < self.most:
            return True
        if not self._full:
            self._full = True
            self._log.error(
                "{most} connections are open, and no more are taken: further ones are answered 503. "
                "More need more open files (ulimit -n, LimitNOFILE)",
                most=self.most,
            )
        return False

    def left(self, connections: int) -> None:
        """One has gone, and so many *connections* are left.

        That there is room again is said when a tenth of it is free, so that it is not said at every turn.
        """
        if self._full and connections <= self.most * 9 // 10:
            self._full = False
            self._log.info("connections are taken again")

    def turned(self) -> Turned | None:
        """What answers the one for whom there is no room; None where even for that there is none."""
        if self.told >= TOLD:
            return None
        self.told += 1
        return Turned(self)
