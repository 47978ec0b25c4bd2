"""Own tables of the webhooks: who is told, what happened, what is owed to whom, and what each attempt came to."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONValue, UTCDateTime

# What is asked for all the time is a small part of the deliveries, and has indexes of its own, that only statements use
# which say the very condition.
_PENDING: Final = "state = 'pending'"
_CLAIMED: Final = "state = 'pending' AND claimed_until IS NOT NULL"
_DEAD: Final = "state = 'dead'"


def _only(condition: str) -> dict[str, Any]:
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


endpoints = Table(
    "ctfp_webhook_endpoints",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    # The names of the events that are wanted, a JSON list.
    Column("events", JSONValue, nullable=False),
    Column("description", Text),
    Column("standard_webhooks", Boolean, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", UTCDateTime, nullable=False),
    Column("validated", UTCDateTime),
    Column("last_success", UTCDateTime),
    Column("last_error", Text),
    # Failed attempts since the last success, and when the first of them was: the circuit, and the five days.
    Column("failures", Integer, nullable=False),
    Column("failing_since", UTCDateTime),
)

# The log of everything that happened. ``body`` is what is sent, byte for byte, at every attempt.
events = Table(
    "ctfp_webhook_events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("event", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created", UTCDateTime, nullable=False),
)

# One row: the number of the last event. A database sequence leaves a gap where a transaction rolls back; this does not.
sequence = Table(
    "ctfp_webhook_sequence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
)

deliveries = Table(
    "ctfp_webhook_deliveries",
    metadata,
    # Random, because receivers drop what they have seen: a database begun anew must not use an id again.
    Column("id", String(40), primary_key=True),
    Column("endpoint_id", ForeignKey("ctfp_webhook_endpoints.id", ondelete="CASCADE"), nullable=False),
    Column("seq", ForeignKey("ctfp_webhook_events.seq"), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    # When a failed one is tried again. While a pending one has none it was never tried, and waits for its turn only.
    Column("next_attempt", UTCDateTime),
    # Which node is sending it, and until when that is believed; a node that was killed never gives its claims back.
    Column("claimed_by", String(64)),
    Column("claimed_until", UTCDateTime),
    Column("last_status", Integer),
    Column("last_error", Text),
    Column("latency_ms", Integer),
    Column("created", UTCDateTime, nullable=False),
    UniqueConstraint("endpoint_id", "seq", name="ctfp_uq_webhook_deliveries_event"),
    Index("ctfp_ix_webhook_deliveries_due", "endpoint_id", "next_attempt", "seq", **_only(_PENDING)),
    Index("ctfp_ix_webhook_deliveries_claimed", "endpoint_id", "claimed_until", **_only(_CLAIMED)),
    Index("ctfp_ix_webhook_deliveries_dead", "endpoint_id", **_only(_DEAD)),
    Index("ctfp_ix_webhook_deliveries_seq", "seq"),
)

attempts = Table(
    "ctfp_webhook_attempts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("delivery_id", ForeignKey("ctfp_webhook_deliveries.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("started", UTCDateTime, nullable=False),
    Column("latency_ms", Integer, nullable=False),
    # [[name, value], ...] as they were sent.
    Column("request_headers", JSONValue, nullable=False),
    # No status: there was no answer, and ``error`` says why.
    Column("status", Integer),
    Column("error", Text),
    # The first 4 KiB of the answer, decompressed.
    Column("answer", LargeBinary, nullable=False),
    UniqueConstraint("delivery_id", "number", name="ctfp_uq_webhook_attempts_number"),
)

# Shared secrets that were rotated away and still sign until they expire. The present one is the secret "webhooks".
retired_secrets = Table(
    "ctfp_webhook_retired_secrets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("secret", Text, nullable=False),
    Column("expires", UTCDateTime, nullable=False),
)
