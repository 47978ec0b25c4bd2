"""The dispatcher on a clock: what is owed is sent, what failed is tried again, the end waits for what is under way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.mail.dispatcher import AT_ONCE, MailDispatcher
from ctfd_twisted.mail.rules import Letter, Route, Smtp
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.sender import PATIENT, NotSentError
from ctfd_twisted.mail.store import SealedLetter, enqueue
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import MemoryPlatform, result_of

SERVER = MailServer("mail.example", 25, "ctf@example.org")
SEALER = Sealer(Keys(b"a secret").mail_key())


class Sender:
    """Takes letters, and answers when it is told to; ``outcomes`` are given in turn, and None is success."""

    def __init__(self) -> None:
        self.sent: list[tuple[Route, str, Letter]] = []
        self.outcomes: list[Exception | None] = []
        self.held: list[Deferred[None]] | None = None

    async def send(self, route: Route, sender_name: str, letter: Letter, *, patience: float = PATIENT) -> None:
        assert patience == PATIENT
        self.sent.append((route, sender_name, letter))
        if self.held is not None:
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome


@pytest.fixture
def sender() -> Sender:
    return Sender()


@pytest.fixture
def dispatcher(platform: MemoryPlatform, sender: Sender) -> Iterator[MailDispatcher]:
    dispatcher = MailDispatcher(platform.db, platform.clock, sender, SEALER, SERVER)
    dispatcher.startService()
    yield dispatcher
    if dispatcher.running:
        result_of(dispatcher.stopService())
    assert platform.clock.getDelayedCalls() == []


def owe(platform: MemoryPlatform, body: str = "text") -> int:
    return int(platform.run(enqueue, platform.now, SealedLetter("a@b.co", "s", SEALER.seal(body))))


def rows(platform: MemoryPlatform) -> list[Any]:
    return list(platform.run(lambda conn: conn.execute(select(outbox).order_by(outbox.c.id)).all()))


@pytest.mark.usefixtures("dispatcher")
def test_a_letter_is_sent_as_soon_as_it_is_owed(platform: MemoryPlatform, sender: Sender) -> None:
    owe(platform)
    assert sender.sent == [(Smtp("mail.example", 25, "ctf@example.org"), "Test CTF", Letter("a@b.co", "s", "text"))]
    assert rows(platform) == []


def test_a_letter_that_finds_a_defect_of_ours_is_given_up_and_holds_up_nobody(
    platform: MemoryPlatform, sender: Sender
) -> None:
    sender.outcomes = [RuntimeError("a defect"), None, RuntimeError("a defect")]
    dispatcher = MailDispatcher(platform.db, platform.clock, sender, SEALER, SERVER)
    for body in ("bad", "good"):
        owe(platform, body)
    with capturedLogs() as logs:
        dispatcher.startService()
        platform.clock.advance(60)
    assert [letter.body for _, _, letter in sender.sent] == ["bad", "good", "bad"]
    (row,) = rows(platform)
    assert (row.attempts, row.last_error) == (2, "RuntimeError('a defect')")
    assert len([event for event in logs if "log_failure" in event]) == 2
    result_of(dispatcher.stopService())


def test_what_was_owed_before_the_start_is_sent_at_the_start(platform: MemoryPlatform, sender: Sender) -> None:
    for number in range(AT_ONCE * 2 + 1):
        owe(platform, str(number))
    dispatcher = MailDispatcher(platform.db, platform.clock, sender, SEALER, SERVER)
    dispatcher.startService()
    assert [letter.body for _, _, letter in sender.sent] == [str(number) for number in range(AT_ONCE * 2 + 1)]
    result_of(dispatcher.stopService())


@pytest.mark.usefixtures("dispatcher")
def test_a_failure_is_tried_again_after_the_wait(platform: MemoryPlatform, sender: Sender) -> None:
    sender.outcomes = [NotSentError("SMTP server connection timed out"), None]
    owe(platform)
    (row,) = rows(platform)
    assert (row.attempts, row.last_error) == (1, "SMTP server connection timed out")
    assert row.next_attempt == platform.now + timedelta(minutes=1)
    platform.clock.advance(59)
    assert len(sender.sent) == 1
    platform.clock.advance(1)
    assert len(sender.sent) == 2
    assert rows(platform) == []


@pytest.mark.usefixtures("dispatcher")
def test_a_refusal_for_good_is_not_tried_again_and_holds_nobody_up(platform: MemoryPlatform, sender: Sender) -> None:
    sender.outcomes = [NotSentError("550 no such user", for_good=True)]
    owe(platform)
    owe(platform)
    assert len(sender.sent) == 2
    (row,) = rows(platform)
    assert (row.next_attempt, row.last_error) == (None, "550 no such user")
    platform.clock.pump([300.0] * 20)
    assert len(sender.sent) == 2


@pytest.mark.usefixtures("dispatcher")
def test_a_letter_of_another_secret_key_is_given_up(platform: MemoryPlatform, sender: Sender) -> None:
    platform.run(enqueue, platform.now, SealedLetter("a@b.co", "s", b"nonsense"))
    assert sender.sent == []
    assert rows(platform)[0].next_attempt is None


@pytest.mark.usefixtures("dispatcher")
def test_a_server_that_is_no_longer_configured_is_waited_for(platform: MemoryPlatform, sender: Sender) -> None:
    platform.configure(mail_server="half")
    owe(platform)
    assert sender.sent == []
    platform.configure(mail_port=25)
    platform.clock.advance(60)
    assert len(sender.sent) == 1


def test_the_end_waits_for_what_is_under_way_and_begins_nothing(
    platform: MemoryPlatform, sender: Sender, dispatcher: MailDispatcher
) -> None:
    sender.held = []
    for _ in range(AT_ONCE + 1):
        owe(platform)
    # The first was begun alone; the others came while it was under way.
    assert len(sender.held) == 1
    stopped = dispatcher.stopService()
    assert not stopped.called
    sender.held.pop().callback(None)
    result_of(stopped)
    assert len(sender.sent) == 1
    assert len(rows(platform)) == AT_ONCE


@pytest.mark.usefixtures("dispatcher")
def test_what_came_meanwhile_is_sent_next(platform: MemoryPlatform, sender: Sender) -> None:
    sender.held = []
    for _ in range(AT_ONCE + 2):
        owe(platform)
    while sender.held:
        sender.held.pop().callback(None)
        platform.clock.advance(0)
    assert len(sender.sent) == AT_ONCE + 2
    assert rows(platform) == []


def test_a_database_that_fails_is_asked_again(platform: MemoryPlatform, sender: Sender) -> None:
    dispatcher = MailDispatcher(platform.db, platform.clock, sender, SEALER, SERVER)
    platform.run(outbox.drop)
    with capturedLogs() as logged:
        dispatcher.startService()
    assert [event["log_level"].name for event in logged] == ["critical"]
    platform.run(outbox.create)
    platform.bus.publish({"mail"})
    owe(platform)
    assert len(sender.sent) == 1
    result_of(dispatcher.stopService())
