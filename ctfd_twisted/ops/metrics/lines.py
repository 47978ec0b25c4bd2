"""How the figures of workers come to their supervisor, which tells those of all in one answer.

Each worker has a socket of its own to the supervisor, made in pairs and inherited: there is no file that a killed
process could leave behind, and no address that another could ask at.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred, fail, gatherResults
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Factory, connectionDone
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from ctfd_twisted.ops.metrics.figures import Family, gauge, merged
from ctfd_twisted.ops.workers.supervisor import LINE

#: Seconds that a worker has to answer; one that is busy for longer is told of as such.
PATIENCE: Final = 3
#: Of so many bytes an answer may be.
LONGEST: Final = 1 << 26

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[Family]).decode


class Answering(Int32StringReceiver):
    """A worker's end: each string asks for everything."""

    MAX_LENGTH = LONGEST

    def __init__(self, gather: Callable[[], Deferred[list[Family]]]) -> None:
        self._gather = gather

    def stringReceived(self, string: bytes) -> None:  # noqa: N802 - Twisted's name
        """Answer with what was counted until now."""
        del string
        self._gather().addCallback(lambda families: self.sendString(_encode(families)))


class Asking(Int32StringReceiver):
    """The supervisor's end."""

    MAX_LENGTH = LONGEST

    def __init__(self) -> None:
        self._waiting: list[Deferred[list[Family]]] = []
        self.lost = False

    def ask(self) -> Deferred[list[Family]]:
        """The worker's figures; fails where it is gone."""
        if self.lost:
            return fail(ConnectionDone())
        answer: Deferred[list[Family]] = Deferred(lambda _: None)
        self._waiting.append(answer)
        self.sendString(b"")
        return answer

    def stringReceived(self, string: bytes) -> None:  # noqa: N802 - Twisted's name
        """Give the answer to whoever asked first."""
        answer = self._waiting.pop(0)
        if not answer.called:
            answer.callback(_decode(string))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell those who wait that there will be no answer."""
        self.lost = True
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            if not answer.called:
                answer.errback(reason)


class Switchboard:
    """The supervisor's lines to its workers."""

    def __init__(self, reactor: Any, own: Callable[[], Deferred[list[Family]]]) -> None:
        """*own* gives the figures of the supervisor itself."""
        self._reactor = reactor
        self._own = own
        self._lines: dict[str, Asking] = {}

    def connect(self, worker: str) -> socket.socket:
        """The other end of a new line to *worker*, which is to inherit it; whoever called this closes it afterwards."""
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            line = self._lines[worker] = Asking()
            self._reactor.adoptStreamConnection(ours.fileno(), socket.AF_UNIX, _Only(line))
        return theirs

    def gather(self) -> Deferred[list[Family]]:
        """The figures of all processes, each with the name of its own; who does not answer is told of as such."""
        for worker in [worker for worker, line in self._lines.items() if line.lost]:
            del self._lines[worker]
        asked = {"supervisor": self._own(), **{worker: line.ask() for worker, line in self._lines.items()}}
        answers = [
            answer.addTimeout(PATIENCE, self._reactor).addCallbacks(lambda families: families, lambda _: None)
            for answer in asked.values()
        ]
        return gatherResults(answers).addCallback(lambda parts: _told(dict(zip(asked, parts, strict=True))))


def answer_on(reactor: Any, gather: Callable[[], Deferred[list[Family]]]) -> None:
    """Answer the supervisor of this worker."""
    line = socket.socket(fileno=LINE)
    line.setblocking(False)
    with line:
        reactor.adoptStreamConnection(line.fileno(), socket.AF_UNIX, _Only(Answering(gather)))


class _Only(Factory):
    """Of one connection."""

    noisy = False

    def __init__(self, protocol: Int32StringReceiver) -> None:
        self._only = protocol

    def buildProtocol(self, addr: object) -> Int32StringReceiver:
        """The one that there is."""
        del addr
        return self._only


def _told(parts: dict[str, list[Family] | None]) -> list[Family]:
    answered = [({"worker": worker}, 0 if families is None else 1) for worker, families in parts.items()]
    up = gauge("ctfplatform_worker_up", "Whether a process of this node has told its figures in time.", *answered)
    return [up, *merged(({"worker": worker}, families or ()) for worker, families in parts.items())]
