"""Tables of pages, notifications and comments."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import UTCDateTime

pages = Table(
    "pages",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("title", String(80)),
    Column("route", String(128), unique=True),
    Column("content", Text),
    Column("draft", Boolean),
    Column("hidden", Boolean),
    Column("auth_required", Boolean),
    Column("format", String(80)),
    Column("link_target", String(80)),
)

notifications = Table(
    "notifications",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("title", Text),
    Column("content", Text),
    Column("date", UTCDateTime),
    Column("user_id", ForeignKey("users.id")),
    Column("team_id", ForeignKey("teams.id")),
)

comments = Table(
    "comments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(80)),
    Column("content", Text),
    Column("date", UTCDateTime),
    Column("author_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    Column("page_id", ForeignKey("pages.id", ondelete="CASCADE")),
    Index("ctfp_ix_comments_author", "author_id"),
    Index("ctfp_ix_comments_challenge", "challenge_id"),
    Index("ctfp_ix_comments_user", "user_id"),
    Index("ctfp_ix_comments_team", "team_id"),
    Index("ctfp_ix_comments_page", "page_id"),
)
