"""Statements that the driver's own cursor runs say and find what SQLAlchemy's do, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, bindparam, event, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.db.trouble import trouble
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing.builders import a_challenge, a_user

COLUMNS = ("challenge_id", "user_id", "type", "date")
RECORD = Ready(insert(submissions).returning(submissions.c.id), COLUMNS)
FOUND = select(
    submissions.c.id, submissions.c.type, submissions.c.date.label("given"), challenges.c.requirements, users.c.hidden
)
FOUND = FOUND.join(challenges, challenges.c.id == submissions.c.challenge_id).join(
    users, users.c.id == submissions.c.user_id
)
FOUND = FOUND.where(submissions.c.date > bindparam("since"), submissions.c.type == "partial")
WHEN = datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)


def test_values_and_rows_are_those_of_sqlalchemy(any_conn: Connection) -> None:
    needs = {"prerequisites": [3], "anonymize": True}
    facts = {"challenge_id": a_challenge(any_conn, requirements=needs), "user_id": a_user(any_conn), "type": "partial"}
    number = RECORD.scalar(any_conn, {**facts, "date": WHEN})
    since = {"since": WHEN.replace(microsecond=0)}
    (row,) = Ready(FOUND).all(any_conn, since)
    assert row == any_conn.execute(FOUND, since).one()
    assert (row.id, row.type, row.given, row.requirements, row.hidden) == (number, "partial", WHEN, needs, False)
    assert Ready(FOUND).first(any_conn, {"since": WHEN}) is None


def test_it_tells_how_many_rows_it_has_written(any_conn: Connection) -> None:
    user = a_user(any_conn)
    again = Ready(text("INSERT INTO users (id, name) VALUES (:id, :name) ON CONFLICT DO NOTHING"))
    assert again.run(any_conn, {"id": user, "name": "bob"}) == 0
    assert again.run(any_conn, {"id": user + 1, "name": "bob"}) == 1


def test_its_errors_are_those_that_transactions_are_tried_again_after(any_conn: Connection) -> None:
    user, unique = a_user(any_conn), Ready(text("INSERT INTO users (id, name) VALUES (:id, 'bob')"))
    with pytest.raises(IntegrityError) as taken, any_conn.begin_nested():
        unique.run(any_conn, {"id": user})
    assert trouble(taken.value) is None
    with pytest.raises(DBAPIError), any_conn.begin_nested():
        Ready(text("SELECT nothing FROM nowhere")).all(any_conn)


def test_who_listens_to_statements_hears_it(any_conn: Connection) -> None:
    heard: list[str] = []
    event.listen(any_conn, "before_cursor_execute", lambda *facts: heard.append(facts[2]))
    assert Ready(text("SELECT 7 AS seven")).first(any_conn).seven == 7
    assert heard == ["SELECT 7 AS seven"]
