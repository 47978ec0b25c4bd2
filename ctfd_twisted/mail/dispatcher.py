"""Empties the outbox: a service that sends what is owed, and tries again what failed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection
from twisted.application.service import Service
from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import concerns
from ctfd_twisted.errors import Busy
from ctfd_twisted.mail.rules import Letter, route_of
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.sender import NotSentError, Sender
from ctfd_twisted.mail.store import OwedLetter, claim_due, next_due, record_delivered, record_failed
from ctfd_twisted.settings import MailServer

#: So many letters are under way at once, each over a connection of its own.
AT_ONCE: Final = 4
#: Seconds between two looks into the outbox where nothing is due: what another node could not finish is found then.
AT_LEAST_EVERY: Final = 300.0
#: Seconds until the next look after the database failed.
AFTER_FAILURE: Final = 30.0
#: Seconds until the next look after another node had claimed what was due.
AFTER_OTHERS: Final = 1.0

_WAKING: Final = frozenset({"mail", "config"})


class MailDispatcher(Service):
    """Sends what the outbox holds, woken by the topic ``mail``.

    A letter is claimed before it is sent and forgotten afterwards, so it is sent at least once, whatever is killed
    when.
    """

    log = Logger()

    def __init__(
        self, db: Database, clock: IReactorTime, sender: Sender, sealer: Sealer, server: MailServer | None
    ) -> None:
        self._db = db
        self._clock = clock
        self._sender = sender
        self._sealer = sealer
        self._server = server
        self._again = False
        self._busy: Deferred[Any] | None = None
        self._timer: IDelayedCall | None = None
        self._unsubscribe = lambda: None

    def startService(self) -> None:
        """Begin with what is owed from before."""
        super().startService()
        self._unsubscribe = self._db.bus.subscribe(self._heard)
        self._wake()

    def stopService(self) -> Deferred[Any]:
        """Claim nothing more, and end when the letters under way have been sent or refused."""
        super().stopService()
        self._unsubscribe()
        self._cancel_timer()
        return succeed(None) if self._busy is None else self._busy

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, _WAKING):
            self._wake()

    def _wake(self) -> None:
        self._cancel_timer()
        if not self.running:
            return
        if self._busy is not None:
            self._again = True
            return
        self._busy = Deferred.fromCoroutine(self._empty())
        self._busy.addCallback(self._rest)

    def _rest(self, seconds: float) -> None:
        self._busy = None
        if not self.running:
            return
        if self._again:
            self._again = False
            seconds = 0.0
        self._timer = self._clock.callLater(seconds, self._wake)

    async def _empty(self) -> float:
        """Send what is due, and return the seconds until the next look; never fails."""
        try:
            while self.running:
                due = await self._db.read(next_due)
                if due is None:
                    return AT_LEAST_EVERY
                until = (due - self._now()).total_seconds()
                if until > 0:
                    return min(until, AT_LEAST_EVERY)
                competition, owed = await self._db.run(_claim, self._now(), AT_ONCE)
                if not owed:  # another node was faster
                    return AFTER_OTHERS
                await gatherResults([Deferred.fromCoroutine(self._deliver(competition, letter)) for letter in owed])
        except Busy:
            pass  # the database has said so itself; its news wake this when it is back
        except Exception:  # noqa: BLE001 - whatever it was, the outbox is looked into again
            self.log.failure(
                "the outbox could not be worked through; it is looked into again in {s} s", s=AFTER_FAILURE
            )
        return AFTER_FAILURE

    async def _deliver(self, competition: Competition, owed: OwedLetter) -> None:
        """Send one letter and record the outcome; never fails."""
        about: dict[str, Any] = {"id": owed.id, "to": owed.letter.recipient}
        failed: NotSentError | None = None
        try:
            await self._send(competition, owed)
        except NotSentError as error:
            self.log.warn("mail {id} to {to} was not sent: {error}", **about, error=error)
            failed = error
        except Exception as error:  # noqa: BLE001 - a defect of ours keeps this letter, and not everybody's
            self.log.failure("mail {id} to {to} could not be sent", Failure(), **about)
            failed = NotSentError(repr(error))
        else:
            self.log.info("mail {id} to {to} was sent", **about)
        with self.log.failuresHandled("what became of mail {id} could not be recorded", id=owed.id):
            if failed is None:
                await self._db.run(record_delivered, owed.id)
            else:
                await self._db.run(record_failed, self._now(), owed, str(failed), for_good=failed.for_good)

    async def _send(self, competition: Competition, owed: OwedLetter) -> None:
        body = self._sealer.open(owed.letter.body)
        if body is None:
            raise NotSentError("it was sealed with another secret key", for_good=True)
        route = route_of(competition, self._server)
        if route is None:
            raise NotSentError("no mail server is configured any more")
        await self._sender.send(route, competition.name, Letter(owed.letter.recipient, owed.letter.subject, body))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)

    def _cancel_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None


def _claim(conn: Connection, now: datetime, limit: int) -> tuple[Competition, tuple[OwedLetter, ...]]:
    return read_competition(conn), claim_due(conn, now, limit)
