"""Large bodies that are taken where they belong while they arrive, instead of into memory.

The server asks an ``Intake`` about each request when its headers have come. Of a body that it takes, memory holds a few
pieces; the next ones are read from the socket when those have found their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.server import Request

from ctfd_twisted.db.threads import InThread

#: So many bytes wait for their place before reading pauses.
ROOM: Final = 256 * 1024


class Receiver(Protocol):
    """Takes one body, in threads, a piece at a time; what is wrong with the body is for its reader to say."""

    @property
    def fields(self) -> Mapping[str, str]:
        """The text fields that have come."""

    def feed(self, data: bytes) -> None:
        """Take the next piece."""

    def finish(self) -> None:
        """Know that the body is complete."""

    def discard(self) -> None:
        """Remove everything that was kept and not taken from here; may be called again."""


class Intake(Protocol):
    """Knows which bodies are taken so, and from whom."""

    #: The largest of them, in bytes.
    limit: int
    in_thread: InThread

    def takes(self, request: Request) -> bool:
        """Whether the body of *request* is of this kind; its first line and its headers are known."""

    async def admits(self, request: Request) -> bool:
        """Whether who sends it may; others' bodies are read within the usual bound, and forgotten."""

    def receiver(self, request: Request) -> Receiver:
        """What takes the body."""


class Taking:
    """One body on its way into its receiver."""

    _log = Logger()

    def __init__(self, request: Request, intake: Intake, transport: Any, turn_away: Callable[[], None]) -> None:
        """*turn_away* is called where it turns out that the body is not admitted, as soon as that is known."""
        self._turn_away = turn_away
        self._request = request
        self._intake = intake
        self._transport = transport
        self._waiting: list[bytes] = []
        self._wake: Deferred[None] | None = None
        self._complete = False
        self._gone = False
        #: None until it is known.
        self.admitted: bool | None = None
        self._receiver: Receiver | None = None
        self._claimed = False
        self._done: Deferred[None] = Deferred()

    @property
    def limit(self) -> int:
        """The largest body that is taken, in bytes."""
        return self._intake.limit

    @property
    def fields(self) -> Mapping[str, str]:
        """The text fields of the body; those of a body that was not admitted are unknown."""
        return {} if self._receiver is None else self._receiver.fields

    def start(self) -> None:
        """Find out whether the body is wanted, then take what comes."""
        Deferred.fromCoroutine(self._run()).addErrback(self._failed).addBoth(self._done.callback)

    def add(self, data: bytes) -> None:
        """The next piece has come."""
        self._waiting.append(data)
        if sum(map(len, self._waiting)) >= ROOM or self.admitted is None:
            self._transport.pauseProducing()
        self._stir()

    def end(self) -> Deferred[None]:
        """The body is complete; fires when all of it has been taken."""
        self._complete = True
        self._stir()
        return self._done

    def abandon(self) -> None:
        """The client is gone, or has been answered: forget what nobody has claimed."""
        self._gone = True
        self._stir()
        if self._done.called and self._receiver is not None and not self._claimed:
            self._intake.in_thread(self._receiver.discard)

    def claim(self) -> Receiver | None:
        """The receiver, whom the caller has to tell to discard; None where the body was not admitted."""
        self._claimed = True
        return self._receiver

    def _stir(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None:
            wake.callback(None)

    async def _run(self) -> None:
        self.admitted = await self._is_admitted()
        if not self.admitted and not self._gone:
            self._turn_away()
        in_thread = self._intake.in_thread
        receiver = self._receiver = self._intake.receiver(self._request) if self.admitted else None
        while not self._gone and (self._waiting or not self._complete):
            pieces, self._waiting = self._waiting, []
            if pieces and receiver is not None:
                await in_thread(receiver.feed, b"".join(pieces))
            if not self._waiting and not self._complete and not self._gone:
                self._wake = Deferred()
                self._transport.resumeProducing()
                await self._wake
        if receiver is not None and not self._gone:
            await in_thread(receiver.finish)
        if receiver is not None and self._gone:
            await in_thread(receiver.discard)

    async def _is_admitted(self) -> bool:
        try:
            return await self._intake.admits(self._request)
        except Exception:  # noqa: BLE001 - a defect of ours admits nobody; the answer will say so
            self._log.failure("who sends a body can't be found out")
            return False

    def _failed(self, failure: Any) -> None:
        self._log.failure("a body can't be taken", failure)


def taken_by(request: Any) -> Taking | None:
    """The body that was taken while it arrived; None where the request holds it."""
    found: Taking | None = getattr(request, "taking", None)
    return found


class Intakes:
    """Several intakes, of which the first that takes a body has it; one limit holds for all."""

    def __init__(self, *intakes: Intake) -> None:
        self._intakes = intakes
        self.limit = max(intake.limit for intake in intakes)
        self.in_thread = intakes[0].in_thread

    def _of(self, request: Request) -> Intake | None:
        return next((intake for intake in self._intakes if intake.takes(request)), None)

    def takes(self, request: Request) -> bool:
        """Whether one of them takes it."""
        return self._of(request) is not None

    async def admits(self, request: Request) -> bool:
        """Whether that one lets the sender in."""
        intake = self._of(request)
        return intake is not None and await intake.admits(request)

    def receiver(self, request: Request) -> Receiver:
        """What that one takes it with."""
        intake = self._of(request)
        assert intake is not None  # noqa: S101 - it was admitted by one
        return intake.receiver(request)
