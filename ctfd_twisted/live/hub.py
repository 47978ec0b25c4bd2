"""Who listens to events on this node, and the one place from which all of them are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.server import Request

from ctfd_twisted.errors import Busy, TooMany
from ctfd_twisted.live.frames import BEAT, PING, chunk, numbered
from ctfd_twisted.live.sources import Source
from ctfd_twisted.live.stream import Stream
from ctfd_twisted.live.views import BITS, LOST, PLAIN, UNKNOWN, Cursor, Step, View

#: Seconds between two pings of a stream as CTFd has it: its contract.
PAUSE: Final = 5
#: Seconds between two beats of the others: below what proxies wait for a word, and no work for ten thousand.
REST: Final = 15
#: So many streams one player may hold open: pages in several windows, on several machines.
OF_A_PLAYER: Final = 10
#: So many come from one address: a hall of players who share it.
OF_AN_ADDRESS: Final = 2_000
#: So many are open on one node: some 100 MB.
OF_A_NODE: Final = 20_000
#: Seconds after which somebody may ask again who was let in nowhere.
ASK_AGAIN: Final = 5
#: Seconds that listeners over TLS have to agree to the end.
AGREE: Final = 2
#: After how many milliseconds browsers connect again, the least and the most: all whom a node has lost come at once.
RETRY: Final = (2_000, 6_000)

K = TypeVar("K", int, str)


class Asked(NamedTuple):
    """What a listener asked for: *bits* of channels, from *cursor* on (None: from now on)."""

    player_id: int
    address: str
    sid: str
    bits: int
    view: View
    cursor: Cursor | None


class _Round:
    """Streams that are each told something every so many *seconds*, and not all in the same second."""

    def __init__(self, seconds: int) -> None:
        self._slots: list[set[Stream]] = [set() for _ in range(seconds)]
        self._next = 0
        self._now = 0

    def add(self, stream: Stream) -> None:
        stream.slot = self._next
        self._slots[stream.slot].add(stream)
        self._next = (self._next + 1) % len(self._slots)

    def discard(self, stream: Stream) -> None:
        self._slots[stream.slot].discard(stream)

    def due(self, seconds: int) -> Iterator[Stream]:
        """Those whose turn it is now that so many *seconds* have passed, each once."""
        for _ in range(min(seconds, len(self._slots))):
            self._now = (self._now + 1) % len(self._slots)
            yield from tuple(self._slots[self._now])


class Hub(Service):
    """The streams that are open; none before the service runs, and none after.

    *sources* are those of all channels, in the order of :data:`~ctfd_twisted.live.views.CHANNELS`.
    """

    log = Logger()
    name = "live"

    def __init__(self, clock: IReactorTime, sources: Sequence[Source]) -> None:
        self._clock = clock
        self._sources = sources
        self._groups: dict[tuple[View, int], set[Stream]] = {}
        self._players: Counter[int] = Counter()
        self._addresses: Counter[str] = Counter()
        self._rounds = {True: _Round(PAUSE), False: _Round(REST)}
        self._said = {True: chunk(PING), False: chunk(BEAT)}
        self._come = 0
        self._loop = LoopingCall.withCount(self._beat)
        self._loop.clock = clock
        self._looped: Deferred[LoopingCall] | None = None

    def startService(self) -> None:
        """Let listeners in."""
        super().startService()
        self._looped = self._loop.start(1, now=False)

    def stopService(self) -> Deferred[LoopingCall] | None:
        """End every stream."""
        super().stopService()
        for stream in tuple(self.streams()):
            stream.end()
        if self._loop.running:
            self._loop.stop()
        return self._looped

    def streams(self) -> Iterator[Stream]:
        """Every open stream."""
        for group in tuple(self._groups.values()):
            yield from tuple(group)

    def listeners(self) -> int:
        """How many streams are open."""
        return self._players.total()

    def wanted(self, name: str) -> bool:
        """Whether anybody listens to the channel called *name*."""
        return any(bits & BITS[name] for _, bits in self._groups)

    @property
    def plain(self) -> bool:
        """Whether anybody listens as CTFd's clients do."""
        return any(bits == PLAIN for _, bits in self._groups)

    def check(self, player_id: int, address: str) -> None:
        """Raise ``Busy`` while the node stops or is full, and ``TooMany`` where too many of one listen already."""
        if not self.running or self._players.total() >= OF_A_NODE:
            raise Busy(ASK_AGAIN)
        if self._players[player_id] >= OF_A_PLAYER:
            raise TooMany(OF_A_PLAYER, 0, ASK_AGAIN, f"You have {OF_A_PLAYER} event streams open already")
        if self._addresses[address] >= OF_AN_ADDRESS:
            raise TooMany(OF_AN_ADDRESS, 0, ASK_AGAIN, f"Your address has {OF_AN_ADDRESS} event streams open already")

    async def stream(self, asked: Asked, request: Request) -> None:
        """Send a listener who was let in what they have still to be told, and all that happens until they leave.

        The request ends here: its connection goes on as a stream without it.
        """
        stream = self._open(asked, request)
        channel: Any = request.channel
        # In a turn of its own, because the handler still runs in this one; it is cancelled as if they had left.
        self._clock.callLater(0, self._let_go, stream, channel)
        try:
            await Deferred()
        finally:
            if not stream.is_alone:
                self.left(stream)

    def _open(self, asked: Asked, request: Request) -> Stream:
        request.responseHeaders.removeHeader(b"content-length")  # nobody knows how long it will be
        request.write(b"")
        stream = Stream(self, request, (asked.player_id, asked.address), asked.sid, asked.bits, asked.view)
        self._players[asked.player_id] += 1
        self._addresses[asked.address] += 1
        self._groups.setdefault((stream.view, stream.bits), set()).add(stream)
        self._rounds[stream.bits == PLAIN].add(stream)
        if stream.bits == PLAIN:
            stream.tell(self._said[True])
            return stream
        least, most = RETRY
        self._come += 1
        stream.tell(chunk(b"retry:%d\n\n" % (least + self._come * 97 % (most - least))))
        self._bring_on(stream, asked.cursor)
        return stream

    def _let_go(self, stream: Stream, channel: Any) -> None:
        if stream.is_open:
            stream.take_over(channel, Failure(ConnectionDone()))

    def catch_up(self, stream: Stream) -> None:
        """See ``Audience``."""
        self._bring_on(stream, LOST)

    def left(self, stream: Stream) -> None:
        """See ``Audience``; what was said before is true the second time, too."""
        group = self._groups.get((stream.view, stream.bits))
        if group is None or stream not in group:
            return
        self._leave_group(stream)
        self._rounds[stream.bits == PLAIN].discard(stream)
        _drop(self._players, stream.player_id)
        _drop(self._addresses, stream.address)

    def see_off(self, stream: Stream) -> None:
        """See ``Audience``."""
        self._clock.callLater(AGREE, stream.cut)

    def move(self, stream: Stream, view: View) -> None:
        """Let *stream* have another *view* from now on, beginning with how everything stands there."""
        self._leave_group(stream)
        stream.view = view
        self._groups.setdefault((view, stream.bits), set()).add(stream)
        if stream.bits != PLAIN:
            self._bring_on(stream, LOST)

    def tell(self, source: Source, steps: Mapping[View, Sequence[Step]]) -> None:
        """Tell the *steps* of *source*: the same bytes to all who asked for the same channels and may know the same."""
        index, bit = self._sources.index(source), BITS[source.name]
        for (view, bits), group in tuple(self._groups.items()):
            ours = steps.get(view)
            if not ours or not bits & bit:
                continue
            places = self._places(view, bits)
            for step in ours:
                places[index] = step.place
                _send(group, chunk(numbered(".".join(places), step.body)))

    def tell_plain(self, bodies: Iterable[bytes]) -> None:
        """Send *bodies* to everybody who listens as CTFd's clients do, each with a ping that pushes it on."""
        groups = [group for (_, bits), group in self._groups.items() if bits == PLAIN]
        for body in bodies:
            data = chunk(body + PING)
            for group in groups:
                _send(group, data)

    def _places(self, view: View, bits: int) -> list[str]:
        """How far those were told who have *view* and asked for *bits*; what they did not ask for, they don't know."""
        return [source.place(view) if bits & BITS[source.name] else UNKNOWN for source in self._sources]

    def _bring_on(self, stream: Stream, cursor: Cursor | None) -> None:
        """Tell *stream* what it was not told who knows *cursor*; every event's id says how far it brings."""
        now = self._places(stream.view, stream.bits)
        places = list(cursor or LOST)
        for index, source in enumerate(self._sources):
            if stream.bits & BITS[source.name]:
                for step in source.since(None if cursor is None else places[index], stream.view):
                    places[index] = step.place
                    stream.tell(_pressed(".".join(places), step.body))
            places[index] = now[index]
        # Somebody who was told nothing yet should know where to go on, too.
        stream.tell(_pressed(".".join(places), b"\n"))

    def _leave_group(self, stream: Stream) -> None:
        key = stream.view, stream.bits
        group = self._groups[key]
        group.discard(stream)
        if not group:
            del self._groups[key]

    def _beat(self, seconds: int) -> None:
        with self.log.failuresHandled("listeners were not told that the streams are alive; the next time is in 1 s"):
            for plain, streams in self._rounds.items():
                for stream in streams.due(seconds):
                    stream.beat(self._said[plain])


@lru_cache(maxsize=8)
def _pressed(event_id: str, body: bytes) -> bytes:
    """An event as a chunk; the same bytes for all who begin in the same state, also while they wait to be sent."""
    return chunk(numbered(event_id, body))


def _send(group: set[Stream], data: bytes) -> None:
    for stream in tuple(group):
        stream.tell(data)


def _drop(counter: Counter[K], key: K) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
