"""The outbox: sealed, claimed by one, forgotten when delivered, given up at the end."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.store import (
    CLAIM,
    SealedLetter,
    claim_due,
    enqueue,
    next_due,
    record_delivered,
    record_failed,
)
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.settings import MailServer

LETTER = SealedLetter("a@b.co", "s", b"sealed")
SEALER = Sealer(Keys(b"a secret").mail_key())
SERVER = MailServer("mail.example", 25, "ctf@example.org")


def test_an_owed_letter_wakes_the_dispatcher_and_is_claimed_once(conn: Connection, now: datetime) -> None:
    letter_id = enqueue(conn, now, LETTER)
    assert taken_topics(conn) == {"mail"}
    assert next_due(conn) == now
    (owed,) = claim_due(conn, now, 10)
    assert (owed.id, owed.letter, owed.attempts) == (letter_id, LETTER, 1)
    assert claim_due(conn, now, 10) == ()
    # Whoever claimed it was killed.
    assert [again.attempts for again in claim_due(conn, now + CLAIM, 10)] == [2]
    record_delivered(conn, letter_id)
    assert next_due(conn) is None


def test_the_oldest_are_claimed_first(conn: Connection, now: datetime) -> None:
    ids = [enqueue(conn, now + timedelta(seconds=age), LETTER) for age in (2, 0, 1)]
    assert [owed.id for owed in claim_due(conn, now + timedelta(seconds=5), 2)] == [ids[1], ids[2]]
    assert claim_due(conn, now, 5) == ()


def test_a_failed_letter_waits_and_is_given_up_at_last(conn: Connection, now: datetime) -> None:
    enqueue(conn, now, LETTER)
    for attempt in range(1, 9):
        due = next_due(conn)
        assert due is not None
        (owed,) = claim_due(conn, due, 1)
        assert owed.attempts == attempt
        assert record_failed(conn, due, owed, "no" * 1000, for_good=False) is (attempt < 8)
    row = conn.execute(select(outbox)).one()
    assert (row.next_attempt, len(row.last_error)) == (None, 1000)
    assert next_due(conn) is None


def test_a_letter_refused_for_good_is_not_tried_again(conn: Connection, now: datetime) -> None:
    enqueue(conn, now, LETTER)
    (owed,) = claim_due(conn, now, 1)
    assert record_failed(conn, now, owed, "550", for_good=True) is False
    assert claim_due(conn, now + timedelta(days=9), 1) == ()


def test_a_letter_lies_sealed_and_only_with_the_secret_key_it_is_opened() -> None:
    post = Post(SEALER, SERVER)
    letter = post.write(Competition({}), "user_creation", "a@b.co", "url", {"name": "ada", "password": "hunter2"})
    assert letter is not None
    assert b"hunter2" not in letter.body
    assert "hunter2" in str(SEALER.open(letter.body))
    assert Sealer(Keys(b"another").mail_key()).open(letter.body) is None
    assert SEALER.open(b"nonsense") is None


def test_nothing_is_written_where_no_mail_is_possible_or_nobody_to_write_to() -> None:
    assert Post(SEALER, None).write(Competition({}), "verification", "a@b.co", "url") is None
    assert Post(SEALER, SERVER).write(Competition({}), "verification", None, "url") is None
    assert Post(SEALER, SERVER).possible(Competition({}))
    assert not Post(SEALER, SERVER).possible(Competition({"mail_server": "x"}))
