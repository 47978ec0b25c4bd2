"""The outbox: mails that are owed, written in the transaction that causes them."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, String, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import UTCDateTime

# ``body`` is sealed with a key derived from the secret key: a mail may hold a password or a link that opens an account,
# and a copy of the database must not. A delivered mail's row is deleted; one that was given up has no next attempt.
outbox = Table(
    "ctfp_mail",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("recipient", String(320), nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created", UTCDateTime, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt", UTCDateTime, nullable=True, index=True),
    Column("last_error", Text, nullable=True),
)
