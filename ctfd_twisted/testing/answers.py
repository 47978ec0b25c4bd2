"""One answer within a transaction of the test's own."""

from __future__ import annotations

from sqlalchemy import Connection

from ctfd_twisted.challenges.attempts import Outcome, attempts
from ctfd_twisted.challenges.recording import NewAttempt


def attempt(conn: Connection, new: NewAttempt) -> Outcome:
    """What comes of *new*; raises the error that its player would be told."""
    (outcome,) = attempts(conn, (new,), alone=True)
    if isinstance(outcome, Exception):
        raise outcome
    assert isinstance(outcome, Outcome)  # noqa: S101 - alone already
    return outcome
