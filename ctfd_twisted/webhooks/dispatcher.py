"""The service that sends: woken by commits, it claims what is due, sends it and records what came of it.

Nothing is kept in memory alone. A node that dies leaves its claims to end; one that stops gives them back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import concerns
from ctfd_twisted.errors import Busy
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.outbox import Claim, Claims, is_due, release
from ctfd_twisted.webhooks.outcomes import Attempt, Sent
from ctfd_twisted.webhooks.records import Alarm, Look, settle
from ctfd_twisted.webhooks.rules import EXCHANGE, IN_ALL
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.signatures import event_headers

#: Seconds between two looks for retries that are due, for claims that have ended, and for what other programs wrote.
POLL: Final = 1.0
_TOPICS: Final = frozenset({"webhooks"})


class Dispatcher(Service):
    """Sends the deliveries of a database, alone or beside the dispatchers of other nodes.

    :param alarm: tells the admins of an endpoint that is disabled.
    :param node: this node's name in claims, used by no other.
    :param chance: gives random numbers from 0 to 1, that spread retries.
    """

    log = Logger()
    name = "webhooks"

    def __init__(
        self,
        clock: IReactorTime,
        db: Database,
        client: WebhookClient,
        alarm: Alarm,
        node: str,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._db = db
        self._client = client
        # What ends at the same moment is recorded together, and with it what is due is claimed.
        self._settle = db.together(partial(settle, node, alarm))
        self._node = node
        self._chance = chance
        self._free = IN_ALL
        self._work: set[Deferred[None]] = set()
        self._claiming = False
        self._wanted = False
        self._cut_off = False
        self._unsubscribe: Callable[[], None] = lambda: None
        self._poll = LoopingCall(self._look)
        self._poll.clock = clock
        self._looked: Deferred[LoopingCall] | None = None

    def startService(self) -> None:
        """Begin to send."""
        super().startService()
        self._unsubscribe = self._db.bus.subscribe(self._heard)
        self._looked = self._poll.start(POLL)
        self._begin(self._prepare())

    def stopService(self) -> Deferred[None]:
        """Claim nothing more, wait up to ten seconds for what is under way, and give back what is left."""
        super().stopService()
        self._unsubscribe()
        if self._poll.running:
            self._poll.stop()
        return Deferred.fromCoroutine(self._drain())

    async def _prepare(self) -> None:
        # The secret is made on the first start, not when somebody first looks at it.
        await self._db.run(read_shared_secret, self._now())

    async def _drain(self) -> None:
        deadline = self._clock.callLater(EXCHANGE, self._cut)
        await DeferredList(list(self._work))
        if self._looked is not None:
            await self._looked
        if deadline.active():
            deadline.cancel()
        with self.log.failuresHandled("webhooks could not be given back; other nodes send them a little later"):
            await self._db.run(release, self._node)
        await self._client.reach.close()

    def _cut(self) -> None:
        self._cut_off = True
        for work in tuple(self._work):
            work.cancel()

    # What is due

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, _TOPICS):
            self._wake()

    async def _look(self) -> None:
        with self.log.failuresHandled("looking for webhooks that are due failed; the next look is in a second"):
            try:
                due = await self._db.read(is_due, self._now())
            except Busy:
                return  # the database has said so itself
            if due:
                self._wake()

    def _wake(self) -> None:
        self._wanted = True
        if self.running and self._free and not self._claiming:
            self._claiming = True
            self._begin(self._claim())

    async def _claim(self) -> None:
        try:
            # What is committed while a claiming transaction runs may be hidden from it, so then there is another.
            while self._wanted and self._free and self.running:
                self._wanted = False
                held, self._free = self._free, 0
                found: Claims | None = None
                with self.log.failuresHandled("claiming webhooks failed; the next look is in a second"), suppress(Busy):
                    found = (await self._settle(Look(self._now(), held))).claims
                claims = found.claims if found is not None and self.running else ()
                self._free += held - len(claims)
                for claim in claims:
                    assert found is not None  # noqa: S101 - there are claims
                    self._begin(self._send(found, claim))
        finally:
            self._claiming = False

    # Sending

    async def _send(self, found: Claims, claim: Claim) -> None:
        """Send *claim*, and in its place what is claimed as its outcome is recorded, until nothing is due."""
        with self.log.failuresHandled("the outcome of a webhook was not recorded, so it is sent again"):
            following: Claims | None = found
            while following is not None and self.running:
                attempt = await self._attempt(following, claim)
                if self._cut_off:
                    break
                # While there is room for others, they have been given theirs, and only this endpoint is looked at.
                more, anywhere = bool(self.running), not self._free
                sent = Sent(self._now(), claim, attempt, self._chance(), more=more, anywhere=anywhere)
                settled = await self._settle(sent)
                if settled.disabled is not None:
                    self.log.warn("webhook {id} is disabled: {reason}", id=claim.endpoint_id, reason=settled.disabled)
                following = settled.claims
                if following is not None:
                    claim = following.claims[0]
        self._free += 1
        if self._wanted:
            self._wake()

    async def _attempt(self, found: Claims, claim: Claim) -> Attempt:
        started = self._now()
        headers = event_headers(
            self._client.prefix,
            found.secret.signing,
            event=claim.event,
            delivery_id=claim.delivery_id,
            timestamp=int(self._clock.seconds()),
            body=claim.body,
            standard=claim.standard_webhooks,
        )
        exchange = await self._client.post(claim.url, headers, claim.body, found.egress)
        return Attempt(
            started=started,
            latency_ms=exchange.latency_ms,
            request_headers=exchange.request_headers,
            status=exchange.status,
            # A status that came in time tells more than that the body did not.
            error=exchange.problem.text if exchange.problem is not None and exchange.status is None else None,
            answer=exchange.answer,
            retry_after=exchange.retry_after,
        )

    def _begin(self, work: Coroutine[Deferred[Any], Any, None]) -> None:
        begun = Deferred.fromCoroutine(work)
        self._work.add(begun)
        begun.addErrback(lambda failure: self.log.failure("sending webhooks failed", failure))
        begun.addBoth(lambda _: self._work.discard(begun))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)
