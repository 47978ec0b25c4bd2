"""From the transaction that owes a letter to the server that takes it, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from twisted.internet.task import Clock, deferLater

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.mail.dispatcher import MailDispatcher
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.postman import Postman
from ctfd_twisted.mail.rules import Letter, Route
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.store import CLAIM, claim_due, enqueue
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import result_of
from tests.integration.mail.conftest import Server, Spin, reactor

SEALER = Sealer(Keys(b"a secret").mail_key())


@pytest.fixture
def db(engines: Engines) -> Database:
    return Database(engines, Bus(), write=start_inline, read=start_inline)


def test_an_owed_letter_is_delivered_and_forgotten(db: Database, spin: Spin, serve: Callable[..., Server]) -> None:
    server = serve()
    settings = MailServer("127.0.0.1", server.port, "ctf@example.org")
    letter = Post(SEALER, settings).write(
        Competition({}), "user_creation", "a@b.co", "url", {"name": "a", "password": "p"}
    )
    assert letter is not None

    async def deliver() -> None:
        dispatcher = MailDispatcher(db, reactor, Postman(reactor), SEALER, settings)
        dispatcher.startService()
        for _ in range(3):
            await db.run(enqueue, datetime.fromtimestamp(reactor.seconds(), UTC), letter)
        while await db.read(lambda conn: conn.execute(select(outbox.c.id)).first()) is not None:
            await deferLater(reactor, 0.01)
        await dispatcher.stopService()

    spin(deliver())
    assert [envelope.rcpt_tos for envelope in server.mailbox.envelopes] == [["a@b.co"]] * 3


def test_a_claim_of_one_node_is_passed_over_by_another(db: Database, engines: Engines) -> None:
    now = datetime(2026, 3, 14, tzinfo=UTC)
    letter = Post(SEALER, MailServer("h", 1, "s@x.co")).write(Competition({}), "verification", "a@b.co", "url")
    assert letter is not None
    with engines.writer() as conn, conn.begin():
        enqueue(conn, now, letter)
        enqueue(conn, now + timedelta(seconds=1), letter)
    later = now + timedelta(minutes=1)
    with ExitStack() as both:
        one = both.enter_context(engines.writer())
        both.enter_context(one.begin())
        first = claim_due(one, later, 1)
        if db.dialect == "sqlite":
            both.close()  # it has one writer, so the other node comes after
        with engines.writer() as other, other.begin():
            second = claim_due(other, later, 5)
    assert [len(first), len(second)] == [1, 1]
    assert first[0].id != second[0].id


class Kept(Postman):
    """A postman who keeps what he is given."""

    def __init__(self) -> None:
        super().__init__(reactor)
        self.sent: list[str] = []

    async def send(self, route: Route, sender_name: str, letter: Letter, *, patience: float = 0) -> None:  # noqa: ARG002
        self.sent.append(letter.recipient)


def test_what_a_killed_node_had_claimed_another_sends_once(db: Database) -> None:
    clock, kept = Clock(), Kept()
    clock.advance(datetime(2026, 3, 14, tzinfo=UTC).timestamp())
    now, settings = datetime.fromtimestamp(clock.seconds(), UTC), MailServer("h", 1, "s@x.co")
    letter = Post(SEALER, settings).write(Competition({}), "verification", "a@b.co", "url")
    assert letter is not None
    result_of(db.run(enqueue, now, letter))
    assert len(result_of(db.run(claim_due, now, 5))) == 1  # and there that node ends
    dispatcher = MailDispatcher(db, clock, kept, SEALER, settings)
    dispatcher.startService()
    clock.advance(CLAIM.total_seconds() - 1)
    assert kept.sent == []
    clock.advance(2)
    assert kept.sent == ["a@b.co"]
    clock.advance(CLAIM.total_seconds() * 3)
    assert kept.sent == ["a@b.co"]
    result_of(dispatcher.stopService())
