"""Tables of challenges and everything that hangs on one."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONObject, UTCDateTime

modules = Table(
    "modules",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("description", Text),
)

module_audience_access = Table(
    "module_audience_access",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE"), nullable=False),
    Column("audience_id", ForeignKey("audiences.id", ondelete="CASCADE"), nullable=False),
    UniqueConstraint("module_id", "audience_id", name="uq_module_audience"),
)

challenges = Table(
    "challenges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80)),
    Column("description", Text),
    Column("attribution", Text),
    Column("connection_info", Text),
    Column("next_id", ForeignKey("challenges.id", ondelete="SET NULL")),
    Column("max_attempts", Integer),
    Column("value", Integer),
    Column("category", String(80)),
    Column("type", String(80)),
    Column("state", String(80), nullable=False),
    Column("logic", String(80), nullable=False),
    Column("initial", Integer),
    Column("minimum", Integer),
    Column("decay", Integer),
    Column("position", Integer, nullable=False),
    Column("function", String(32)),
    Column("scheduled_at", UTCDateTime),
    Column("module_id", ForeignKey("modules.id", ondelete="SET NULL")),
    Column("requirements", JSONObject),
)

# Authoritative for challenges of type "dynamic"; all other types keep their decay in ``challenges`` itself.
dynamic_challenge = Table(
    "dynamic_challenge",
    metadata,
    Column("id", ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("dynamic_initial", Integer),
    Column("dynamic_minimum", Integer),
    Column("dynamic_decay", Integer),
    Column("dynamic_function", String(32)),
)

# From when on a challenge takes no answers; one without a row takes them as long as the competition runs.
challenge_ends = Table(
    "ctfp_challenge_ends",
    metadata,
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("ends_at", UTCDateTime, nullable=False),
)

flags = Table(
    "flags",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("type", String(80)),
    Column("content", Text),
    Column("data", Text),
    Index("ctfp_ix_flags_challenge", "challenge_id"),
)

hints = Table(
    "hints",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("title", String(80)),
    Column("type", String(80)),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("content", Text),
    Column("cost", Integer),
    Column("requirements", JSONObject),
    Index("ctfp_ix_hints_challenge", "challenge_id"),
)

solutions = Table(
    "solutions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE"), unique=True),
    Column("content", Text),
    Column("state", String(80), nullable=False),
)

tags = Table(
    "tags",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("value", String(80)),
    Index("ctfp_ix_tags_challenge", "challenge_id"),
)

topics = Table(
    "topics",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("value", String(255), unique=True),
)

challenge_topics = Table(
    "challenge_topics",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("topic_id", ForeignKey("topics.id", ondelete="CASCADE")),
    Index("ctfp_ix_challenge_topics_challenge", "challenge_id"),
    Index("ctfp_ix_challenge_topics_topic", "topic_id"),
)

files = Table(
    "files",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(80)),
    Column("location", Text),
    Column("sha1sum", String(40)),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("page_id", ForeignKey("pages.id")),
    Column("solution_id", ForeignKey("solutions.id", ondelete="CASCADE")),
    # Every download looks a file up by its location. A hash index, because a B-tree of PostgreSQL refuses long text.
    Index("ctfp_ix_files_location", "location", postgresql_using="hash"),
    Index("ctfp_ix_files_challenge", "challenge_id"),
    Index("ctfp_ix_files_page", "page_id"),
    Index("ctfp_ix_files_solution", "solution_id"),
)

ratings = Table(
    "ratings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("value", Integer),
    Column("review", String(2000)),
    Column("date", UTCDateTime),
    UniqueConstraint("user_id", "challenge_id"),
    Index("ctfp_ix_ratings_challenge", "challenge_id"),
)

# A rating as it was before it was changed after the freeze: the public's sums stand still.
frozen_ratings = Table(
    "ctfp_frozen_ratings",
    metadata,
    Column("rating_id", ForeignKey("ratings.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("value", Integer),
    Column("date", UTCDateTime, nullable=False),
)
