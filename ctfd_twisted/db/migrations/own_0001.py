"""The tables of our own that revision 0001 makes, and its indexes on CTFd's tables: frozen."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    text,
)

#: Indexes on CTFd's tables, which have none: (name after ``ctfp_ix_``, table, columns).
INDEXES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("audience_members_team", "audience_members", ("team_id",)),
    ("audience_members_user", "audience_members", ("user_id",)),
    ("awards_team", "awards", ("team_id",)),
    ("awards_user", "awards", ("user_id",)),
    ("challenge_topics_challenge", "challenge_topics", ("challenge_id",)),
    ("challenge_topics_topic", "challenge_topics", ("topic_id",)),
    ("comments_author", "comments", ("author_id",)),
    ("comments_challenge", "comments", ("challenge_id",)),
    ("comments_page", "comments", ("page_id",)),
    ("comments_team", "comments", ("team_id",)),
    ("comments_user", "comments", ("user_id",)),
    ("field_entries_field", "field_entries", ("field_id",)),
    ("field_entries_team", "field_entries", ("team_id",)),
    ("field_entries_user", "field_entries", ("user_id",)),
    ("files_challenge", "files", ("challenge_id",)),
    ("files_page", "files", ("page_id",)),
    ("files_solution", "files", ("solution_id",)),
    ("flags_challenge", "flags", ("challenge_id",)),
    ("hints_challenge", "hints", ("challenge_id",)),
    ("ratings_challenge", "ratings", ("challenge_id",)),
    ("solves_team", "solves", ("team_id", "challenge_id")),
    ("solves_user", "solves", ("user_id", "challenge_id")),
    ("submissions_challenge", "submissions", ("challenge_id",)),
    ("submissions_date", "submissions", ("date",)),
    ("submissions_team", "submissions", ("team_id", "type", "date", "challenge_id")),
    ("submissions_user", "submissions", ("user_id", "type", "date", "challenge_id")),
    ("tags_challenge", "tags", ("challenge_id",)),
    ("teams_bracket", "teams", ("bracket_id",)),
    ("teams_captain", "teams", ("captain_id",)),
    ("teams_name", "teams", ("name",)),
    ("tokens_user", "tokens", ("user_id",)),
    ("tracking_ip", "tracking", ("ip",)),
    ("tracking_user", "tracking", ("user_id", "type", "target", "ip")),
    ("unlocks_team", "unlocks", ("team_id", "type", "target")),
    ("unlocks_user", "unlocks", ("user_id", "type", "target")),
    ("users_bracket", "users", ("bracket_id",)),
    ("users_name", "users", ("name",)),
    ("users_team", "users", ("team_id",)),
)
#: The same for columns of unlimited text, which a B-tree of PostgreSQL refuses above some 2,700 bytes.
HASH_INDEXES = (("config_key", "config", ("key",)), ("files_location", "files", ("location",)))

#: Every table that is made here.
TABLES = (
    "ctfp_leases",
    "ctfp_news",
    "ctfp_others",
    "ctfp_secrets",
    "ctfp_loose_files",
    "ctfp_imports",
    "ctfp_sessions",
    "ctfp_token_uses",
    "ctfp_challenge_ends",
    "ctfp_frozen_ratings",
    "ctfp_mail",
    "ctfp_hills",
    "ctfp_voids",
    "ctfp_ticks",
    "ctfp_webhook_endpoints",
    "ctfp_webhook_events",
    "ctfp_webhook_sequence",
    "ctfp_webhook_deliveries",
    "ctfp_webhook_attempts",
    "ctfp_webhook_retired_secrets",
)


def make() -> None:
    """Make all of them."""
    _common()
    _news()
    _accounts()
    _challenges()
    _mail()
    _hills()
    _ticks()
    _webhooks()
    _deliveries()
    for name, table, columns in INDEXES:
        op.create_index(f"ctfp_ix_{name}", table, columns)
    for name, table, columns in HASH_INDEXES:
        op.create_index(f"ctfp_ix_{name}", table, columns, postgresql_using="hash")
    for table in ("teams", "users"):
        op.create_index(
            f"ctfp_ix_{table}_unlisted",
            table,
            ["id"],
            sqlite_where=text("NOT (hidden IS 0 AND banned IS 0)"),
            postgresql_where=text("NOT (hidden IS false AND banned IS false)"),
        )


def _id() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def _ref(name: str, target: str, rule: str | None = "CASCADE", **options: Any) -> Column[Any]:
    return Column(name, Integer, ForeignKey(target, ondelete=rule), **options)


def _common() -> None:
    op.create_table(
        "ctfp_leases",
        Column("name", String(80), primary_key=True),
        Column("holder", String(128), nullable=False),
        Column("expires", DateTime, nullable=False),
    )
    op.create_table(
        "ctfp_secrets",
        Column("name", String(80), primary_key=True),
        Column("value", Text, nullable=False),
    )
    op.create_table(
        "ctfp_loose_files",
        _id(),
        Column("location", Text, nullable=False),
        Column("since", DateTime),
    )
    op.create_table(
        "ctfp_imports",
        _id(),
        Column("began", DateTime, nullable=False),
        Column("ended", DateTime),
        Column("trial", Boolean, nullable=False),
        Column("problem", Text),
        Column("lines", JSON),
    )


def _news() -> None:
    op.create_table(
        "ctfp_news",
        _id(),
        Column("node", String(32), nullable=False),
        Column("topics", Text, nullable=False),
    )
    op.create_table(
        "ctfp_others",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("mark", BigInteger, nullable=False),
        Column("step", Integer, nullable=False),
    )


def _accounts() -> None:
    op.create_table(
        "ctfp_sessions",
        Column("sid_hash", String(64), primary_key=True),
        _ref("user_id", "users.id", nullable=False),
        Column("password_mac", String(64), nullable=False),
        Column("created", DateTime, nullable=False),
        Column("expires", DateTime, nullable=False),
        Column("seen", DateTime, nullable=False),
        Column("address", String(46), nullable=False),
        Column("user_agent", Text, nullable=False),
    )
    op.create_index("ix_ctfp_sessions_user_id", "ctfp_sessions", ["user_id"])
    op.create_index("ix_ctfp_sessions_expires", "ctfp_sessions", ["expires"])
    op.create_table(
        "ctfp_token_uses",
        _ref("token_id", "tokens.id", primary_key=True, autoincrement=False),
        Column("used", DateTime, nullable=False),
    )


def _challenges() -> None:
    op.create_table(
        "ctfp_challenge_ends",
        _ref("challenge_id", "challenges.id", primary_key=True, autoincrement=False),
        Column("ends_at", DateTime, nullable=False),
    )
    op.create_table(
        "ctfp_frozen_ratings",
        Column(
            "rating_id",
            Integer,
            ForeignKey("ratings.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        Column("value", Integer),
        Column("date", DateTime, nullable=False),
    )


def _mail() -> None:
    op.create_table(
        "ctfp_mail",
        _id(),
        Column("recipient", String(320), nullable=False),
        Column("subject", Text, nullable=False),
        Column("body", LargeBinary, nullable=False),
        Column("created", DateTime, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("next_attempt", DateTime),
        Column("last_error", Text),
    )
    op.create_index("ix_ctfp_mail_next_attempt", "ctfp_mail", ["next_attempt"])


def _hills() -> None:
    op.create_table(
        "ctfp_hills",
        _ref("challenge_id", "challenges.id", primary_key=True, autoincrement=False),
        Column("url", Text, nullable=False),
        Column("interval", Integer, nullable=False),
        Column("reward", Integer, nullable=False),
        Column("api_key", Text),
        Column("tls_certificate", Text),
        Column("client_certificate", Text),
        Column("client_key", Text),
        Column("timeout", Float),
        Column("health_gate", Boolean, nullable=False),
        Column("jitter", Float, nullable=False),
        Column("confirm_ticks", Integer, nullable=False),
        Column("hold_bonus", Integer, nullable=False),
        Column("target_url", Text),
        Column("reset_url", Text),
        Column("reset_every", Integer),
        Column("first_tick", DateTime),
        Column("next_tick", Integer, nullable=False),
        Column("running", Boolean, nullable=False),
        _ref("king_user_id", "users.id", "SET NULL"),
        _ref("king_team_id", "teams.id", "SET NULL"),
        Column("king_since", DateTime),
        Column("reign", Integer),
        Column("reign_ticks", Integer, nullable=False),
        Column("last_outcome", String(16)),
        Column("failures", Integer, nullable=False),
        Column("reset_asked", Boolean, nullable=False),
        Column("resetting_since", DateTime),
        Column("last_reset", DateTime),
        Column("reset_problem", Text),
    )
    op.create_index("ctfp_ix_hills_king_user", "ctfp_hills", ["king_user_id"])
    op.create_index("ctfp_ix_hills_king_team", "ctfp_hills", ["king_team_id"])


def _ticks() -> None:
    op.create_table(
        "ctfp_voids",
        _id(),
        _ref("challenge_id", "challenges.id", nullable=False),
        Column("from_tick", Integer, nullable=False),
        Column("to_tick", Integer, nullable=False),
        Column("reason", Text, nullable=False),
        _ref("author_id", "users.id", "SET NULL"),
        Column("author", String(128), nullable=False),
        Column("date", DateTime, nullable=False),
        Column("undone", DateTime),
        Column("undone_by", String(128)),
    )
    op.create_index("ctfp_ix_voids_challenge", "ctfp_voids", ["challenge_id"])
    op.create_index("ctfp_ix_voids_author", "ctfp_voids", ["author_id"])
    op.create_table(
        "ctfp_ticks",
        _id(),
        _ref("challenge_id", "challenges.id", nullable=False),
        Column("tick", Integer, nullable=False),
        Column("due", DateTime, nullable=False),
        Column("started", DateTime),
        Column("latency_ms", Integer),
        Column("status", Integer),
        Column("outcome", String(16), nullable=False),
        Column("identifier", Text),
        _ref("user_id", "users.id", "SET NULL"),
        _ref("team_id", "teams.id", "SET NULL"),
        Column("reign", Integer),
        Column("points", Integer, nullable=False),
        _ref("award_id", "awards.id", "SET NULL"),
        Column("signed", Boolean),
        Column("detail", Text),
        Column("answers", JSON),
        _ref("void_id", "ctfp_voids.id", "SET NULL"),
        Column("voided", String(16)),
        UniqueConstraint("challenge_id", "tick", name="ctfp_uq_ticks_tick"),
    )
    op.create_index("ctfp_ix_ticks_reign", "ctfp_ticks", ["challenge_id", "reign"])
    op.create_index("ctfp_ix_ticks_user", "ctfp_ticks", ["user_id", "challenge_id"])
    op.create_index("ctfp_ix_ticks_team", "ctfp_ticks", ["team_id", "challenge_id"])
    op.create_index("ctfp_ix_ticks_award", "ctfp_ticks", ["award_id"])
    op.create_index("ctfp_ix_ticks_void", "ctfp_ticks", ["void_id"])


def _webhooks() -> None:
    op.create_table(
        "ctfp_webhook_endpoints",
        _id(),
        Column("url", Text, nullable=False),
        Column("events", JSON, nullable=False),
        Column("description", Text),
        Column("standard_webhooks", Boolean, nullable=False),
        Column("state", String(16), nullable=False),
        Column("created", DateTime, nullable=False),
        Column("validated", DateTime),
        Column("last_success", DateTime),
        Column("last_error", Text),
        Column("failures", Integer, nullable=False),
        Column("failing_since", DateTime),
    )
    op.create_table(
        "ctfp_webhook_events",
        Column("seq", Integer, primary_key=True, autoincrement=False),
        Column("event", String(64), nullable=False),
        Column("body", LargeBinary, nullable=False),
        Column("created", DateTime, nullable=False),
    )
    op.create_table(
        "ctfp_webhook_sequence",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("seq", Integer, nullable=False),
    )
    op.create_table(
        "ctfp_webhook_retired_secrets",
        _id(),
        Column("secret", Text, nullable=False),
        Column("expires", DateTime, nullable=False),
    )


def _deliveries() -> None:
    op.create_table(
        "ctfp_webhook_deliveries",
        Column("id", String(40), primary_key=True),
        _ref("endpoint_id", "ctfp_webhook_endpoints.id", nullable=False),
        _ref("seq", "ctfp_webhook_events.seq", None, nullable=False),
        Column("state", String(16), nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("next_attempt", DateTime),
        Column("claimed_by", String(64)),
        Column("claimed_until", DateTime),
        Column("last_status", Integer),
        Column("last_error", Text),
        Column("latency_ms", Integer),
        Column("created", DateTime, nullable=False),
        UniqueConstraint("endpoint_id", "seq", name="ctfp_uq_webhook_deliveries_event"),
    )
    for name, columns, condition in (
        ("due", ["endpoint_id", "next_attempt", "seq"], "state = 'pending'"),
        ("claimed", ["endpoint_id", "claimed_until"], "state = 'pending' AND claimed_until IS NOT NULL"),
        ("dead", ["endpoint_id"], "state = 'dead'"),
    ):
        op.create_index(
            f"ctfp_ix_webhook_deliveries_{name}",
            "ctfp_webhook_deliveries",
            columns,
            sqlite_where=text(condition),
            postgresql_where=text(condition),
        )
    op.create_index("ctfp_ix_webhook_deliveries_seq", "ctfp_webhook_deliveries", ["seq"])
    op.create_table(
        "ctfp_webhook_attempts",
        _id(),
        Column("delivery_id", String(40), ForeignKey("ctfp_webhook_deliveries.id", ondelete="CASCADE"), nullable=False),
        Column("number", Integer, nullable=False),
        Column("started", DateTime, nullable=False),
        Column("latency_ms", Integer, nullable=False),
        Column("request_headers", JSON, nullable=False),
        Column("status", Integer),
        Column("error", Text),
        Column("answer", LargeBinary, nullable=False),
        UniqueConstraint("delivery_id", "number", name="ctfp_uq_webhook_attempts_number"),
    )
