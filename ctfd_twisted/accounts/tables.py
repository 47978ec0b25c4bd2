"""Tables of those who play, and of what they say about themselves."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint, text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONValue, UTCDateTime

# An index of the few who are not listed. Its condition is written as ``not_(AccountKind.listed)`` is sent: SQLite uses
# it for no other words.
_UNLISTED: Final[dict[str, Any]] = {
    "sqlite_where": text("NOT (hidden IS 0 AND banned IS 0)"),
    "postgresql_where": text("NOT (hidden IS false AND banned IS false)"),
}

brackets = Table(
    "brackets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(255)),
    Column("description", Text),
    Column("type", String(80)),
)

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("oauth_id", Integer, unique=True),
    # Not unique in the database of CTFd, so old data may hold the same name twice.
    Column("name", String(128)),
    Column("password", String(128)),
    Column("email", String(128), unique=True),
    Column("type", String(80)),
    Column("secret", String(128)),
    Column("website", String(128)),
    Column("affiliation", String(128)),
    Column("country", String(32)),
    Column("bracket_id", ForeignKey("brackets.id", ondelete="SET NULL")),
    Column("hidden", Boolean),
    Column("banned", Boolean),
    Column("verified", Boolean),
    Column("language", String(32)),
    Column("change_password", Boolean),
    Column("team_id", ForeignKey("teams.id")),
    Column("created", UTCDateTime),
    UniqueConstraint("id", "oauth_id"),
    Index("ctfp_ix_users_name", "name"),
    Index("ctfp_ix_users_team", "team_id"),
    Index("ctfp_ix_users_bracket", "bracket_id"),
    Index("ctfp_ix_users_unlisted", "id", **_UNLISTED),
)

teams = Table(
    "teams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("oauth_id", Integer, unique=True),
    Column("name", String(128)),
    Column("email", String(128), unique=True),
    Column("password", String(128)),
    Column("secret", String(128)),
    Column("website", String(128)),
    Column("affiliation", String(128)),
    Column("country", String(32)),
    Column("bracket_id", ForeignKey("brackets.id", ondelete="SET NULL")),
    Column("hidden", Boolean),
    Column("banned", Boolean),
    # Users and teams refer to each other: where the dialect can, the constraint is added once both tables are there.
    Column("captain_id", ForeignKey("users.id", name="team_captain_id", ondelete="SET NULL", use_alter=True)),
    Column("created", UTCDateTime),
    UniqueConstraint("id", "oauth_id"),
    Index("ctfp_ix_teams_name", "name"),
    Index("ctfp_ix_teams_captain", "captain_id"),
    Index("ctfp_ix_teams_bracket", "bracket_id"),
    Index("ctfp_ix_teams_unlisted", "id", **_UNLISTED),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(32)),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("created", UTCDateTime),
    Column("expiration", UTCDateTime),
    Column("description", Text),
    Column("value", String(128), unique=True),
    Index("ctfp_ix_tokens_user", "user_id"),
)

tracking = Table(
    "tracking",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(32)),
    Column("ip", String(46)),
    Column("target", Integer),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("date", UTCDateTime),
    Index("ctfp_ix_tracking_user", "user_id", "type", "target", "ip"),
    Index("ctfp_ix_tracking_ip", "ip"),
)

fields = Table(
    "fields",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text),
    Column("type", String(80)),
    Column("field_type", String(80)),
    Column("description", Text),
    Column("required", Boolean),
    Column("public", Boolean),
    Column("editable", Boolean),
)

field_entries = Table(
    "field_entries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("type", String(80)),
    Column("value", JSONValue),
    Column("field_id", ForeignKey("fields.id", ondelete="CASCADE")),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    Index("ctfp_ix_field_entries_field", "field_id"),
    Index("ctfp_ix_field_entries_user", "user_id"),
    Index("ctfp_ix_field_entries_team", "team_id"),
)

audiences = Table(
    "audiences",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("description", Text),
    Column("type", String(80), nullable=False),
)

audience_members = Table(
    "audience_members",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("audience_id", ForeignKey("audiences.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    UniqueConstraint("audience_id", "user_id", name="uq_audience_user"),
    UniqueConstraint("audience_id", "team_id", name="uq_audience_team"),
    Index("ctfp_ix_audience_members_user", "user_id"),
    Index("ctfp_ix_audience_members_team", "team_id"),
)
