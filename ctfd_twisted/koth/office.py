"""What all watches of a polling node share: clock, database, client, and the lease in whose name they record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from twisted.internet.defer import CancelledError, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import Busy
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.identifiers import Directory
from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.recording import AlreadyRecorded, Moment, NotTheHolder, Recorded, record_tick
from ctfd_twisted.koth.rules import FAILURES_TO_TELL, Unasked
from ctfd_twisted.koth.skipping import record_unasked
from ctfd_twisted.koth.store import read_directory
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.signatures import signature

#: ``ticked(hill, outcome, late)`` counts a tick that was recorded; *late* is by how many seconds after it was due, or
#: None where the agent was not asked.
Ticked = Callable[[int, str, float | None], None]

P = ParamSpec("P")
T = TypeVar("T")

#: So many polls are under way at once. More hills that are due in the same instant wait for their turn.
POLLS: Final = 400
#: Seconds after which a tick is offered to a database in trouble again.
AGAIN: Final = 0.5
#: What a database raises that can't be reached or is overloaded, and that may be over soon.
TROUBLE: Final = (OperationalError, InterfaceError, NoConnection, Busy)


class Office:
    """One node's means to poll.

    :param holder: the name in which this node holds the lease.
    :param prefix: what the names of the signature's headers begin with, as for webhooks.
    """

    log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        db: Database,
        client: HillClient,
        *,
        holder: str,
        prefix: str = "Service-Webhook",
        ticked: Ticked | None = None,
    ) -> None:
        self.clock = clock
        self.db = db
        self.client = client
        self.holder = holder
        self.directory: Snapshot[Directory] = Snapshot(db, db.bus, read_directory, {"accounts", "newcomers", "config"})
        self.slots = DeferredSemaphore(POLLS)
        #: Whether the lease is ours as far as we know; set by the poller.
        self.leads: Callable[[], bool] = lambda: False
        #: Called when a transaction has shown that the lease is another's.
        self.lost: Callable[[], None] = lambda: None
        self._prefix = prefix
        self._ticked = ticked

    def now(self) -> datetime:
        """The clock's instant."""
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    async def note(
        self,
        fn: Callable[Concatenate[Connection, datetime, str, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run ``fn(conn, now, holder, *args)``, again while the database is in trouble and the lease is ours.

        Raises ``NotTheHolder`` when it is not, and tells the poller.
        """
        return await self._persist(lambda: self.db.run(fn, self.now(), self.holder, *args, **kwargs))

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await attempt()
            except NotTheHolder:
                self.lost()
                raise
            except Busy:
                pass  # the database has said so itself, once; all hills ask it twice a second
            except TROUBLE as error:
                self.log.warn("The database is in trouble: {error}", error=str(error).partition("\n")[0])
            await deferLater(self.clock, AGAIN)
            if not self.leads():
                raise NotTheHolder

    async def record(self, challenge_id: int, moment: Moment, evidence: Evidence) -> None:
        """Record a poll. A tick that can't be recorded because of a defect is recorded as missed."""

        async def attempt() -> Recorded | None:
            directory = await self.directory.get()
            now = self.now()
            return await self.db.run(record_tick, now, self.holder, directory, challenge_id, moment, evidence)

        try:
            recorded = await self._persist(attempt)
        except (NotTheHolder, CancelledError):
            raise
        except AlreadyRecorded:
            self.log.warn("tick {tick} of hill {hill} was recorded already", tick=moment.tick, hill=challenge_id)
            return
        except Exception:  # noqa: BLE001 - one hill's data must not end the polling of all others
            self.log.failure("tick {tick} of hill {hill} was not recorded", tick=moment.tick, hill=challenge_id)
            await self.skip(challenge_id, [moment], "missed", "the platform failed to record what it had learnt")
            return
        if recorded is not None and self._ticked is not None:
            self._ticked(challenge_id, recorded.outcome, (self.now() - moment.due).total_seconds())
        if recorded is not None and recorded.failures == FAILURES_TO_TELL:
            self.log.warn(
                "{count} polls of hill {hill} in a row have failed, the last with {outcome}",
                count=recorded.failures,
                hill=challenge_id,
                outcome=recorded.outcome,
            )

    async def skip(self, challenge_id: int, moments: Sequence[Moment], outcome: Unasked, detail: str) -> None:
        """Record ticks at which the agent was not asked."""
        await self.note(record_unasked, challenge_id, moments, outcome, detail)
        self.count(challenge_id, outcome, len(moments))

    def count(self, challenge_id: int, outcome: Unasked, ticks: int) -> None:
        """Count *ticks* at which the agent was not asked."""
        if self._ticked is not None:
            for _ in range(ticks):
                self._ticked(challenge_id, outcome, None)

    async def proof(self, body: bytes) -> dict[str, str]:
        """The header that signs *body* as a webhook is signed."""
        now = self.now()
        secret = await self.db.run(read_shared_secret, now)
        return {f"{self._prefix}-Signature": signature(secret.signing, int(now.timestamp()), body)}

    def report(self, failure: Any, doing: str, challenge_id: int) -> None:
        """Log what ended work that nobody waits for; losing the lease is none of it."""
        if not failure.check(NotTheHolder):
            self.log.failure("{doing} of hill {hill} failed", failure, doing=doing, hill=challenge_id)
