"""Who listens to events on this node, and the one place from which all of them are told."""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeVar

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.web.server import Request

from ctfd_twisted.errors import Busy
from ctfd_twisted.live.stream import Stream

#: Seconds between two pings.
PAUSE: Final = 5.0
#: So many streams one player may hold open: pages in several windows, on several machines.
OF_A_PLAYER: Final = 10
#: So many come from one address: a hall of players who share it.
OF_AN_ADDRESS: Final = 2_000
#: So many are open on one node.
OF_A_NODE: Final = 10_000

#: A player's id, and the address that they listen from.
Listener = tuple[int, str]

K = TypeVar("K", int, str)


class Hub(Service):
    """The streams that are open; none before the service runs, and none after."""

    log = Logger()
    name = "live"

    def __init__(self, clock: IReactorTime) -> None:
        self._streams: set[Stream] = set()
        self._players: Counter[int] = Counter()
        self._addresses: Counter[str] = Counter()
        self._loop = LoopingCall(self._ping)
        self._loop.clock = clock
        self._looped: Deferred[LoopingCall] | None = None

    def startService(self) -> None:
        """Let listeners in."""
        super().startService()
        self._looped = self._loop.start(PAUSE, now=False)

    def stopService(self) -> Deferred[LoopingCall] | None:
        """End every stream."""
        super().stopService()
        for stream in tuple(self._streams):
            stream.end()
        if self._loop.running:
            self._loop.stop()
        return self._looped

    def check(self, listener: Listener) -> None:
        """Raise ``Busy`` where *listener* can't be let in: the node stops, or too many listen already."""
        player_id, address = listener
        if not self.running or len(self._streams) >= OF_A_NODE:
            raise Busy(retry_after=int(PAUSE))
        if self._players[player_id] >= OF_A_PLAYER:
            raise Busy(int(PAUSE), f"You have {OF_A_PLAYER} event streams open already")
        if self._addresses[address] >= OF_AN_ADDRESS:
            raise Busy(int(PAUSE), f"Your address has {OF_AN_ADDRESS} event streams open already")

    async def stream(self, listener: Listener, request: Request) -> None:
        """Send *listener* what happens, until they leave or the service stops."""
        stream = Stream(request)
        player_id, address = listener
        self._streams.add(stream)
        self._players[player_id] += 1
        self._addresses[address] += 1
        try:
            stream.begin()
            await stream.ended
        finally:
            self._streams.discard(stream)
            _drop(self._players, player_id)
            _drop(self._addresses, address)

    def publish(self, frame: bytes) -> None:
        """Send *frame* to everybody who listens."""
        for stream in tuple(self._streams):
            stream.tell(frame)

    def _ping(self) -> None:
        with self.log.failuresHandled("listeners were not pinged; the next time is in {seconds} s", seconds=PAUSE):
            for stream in tuple(self._streams):
                stream.ping()


def _drop(counter: Counter[K], key: K) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
