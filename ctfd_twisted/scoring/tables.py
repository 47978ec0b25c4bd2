"""Tables of attempts, solves, awards and unlocks."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONObject, UTCDateTime

submissions = Table(
    "submissions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    Column("ip", String(46)),
    Column("provided", Text),
    Column("type", String(32)),
    Column("date", UTCDateTime),
    # With all that is counted at each attempt and for each account's view, so that its rows need not be fetched. Wrong
    # answers of the last minute, which each attempt counts, are next to each other.
    Index("ctfp_ix_submissions_user", "user_id", "type", "date", "challenge_id"),
    Index("ctfp_ix_submissions_team", "team_id", "type", "date", "challenge_id"),
    Index("ctfp_ix_submissions_challenge", "challenge_id"),
    Index("ctfp_ix_submissions_date", "date"),
)

solves = Table(
    "solves",
    metadata,
    # The same id as the submission's: a solve is a submission and a row here.
    Column("id", ForeignKey("submissions.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE")),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    UniqueConstraint("challenge_id", "user_id"),
    UniqueConstraint("challenge_id", "team_id"),
    Index("ctfp_ix_solves_user", "user_id", "challenge_id"),
    Index("ctfp_ix_solves_team", "team_id", "challenge_id"),
)

awards = Table(
    "awards",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    Column("type", String(80)),
    Column("name", String(80)),
    Column("description", Text),
    Column("date", UTCDateTime),
    Column("value", Integer),
    Column("category", String(80)),
    Column("icon", Text),
    Column("requirements", JSONObject),
    Index("ctfp_ix_awards_user", "user_id"),
    Index("ctfp_ix_awards_team", "team_id"),
)

unlocks = Table(
    "unlocks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE")),
    Column("team_id", ForeignKey("teams.id", ondelete="CASCADE")),
    Column("target", Integer),
    Column("date", UTCDateTime),
    Column("type", String(32)),
    Index("ctfp_ix_unlocks_user", "user_id", "type", "target"),
    Index("ctfp_ix_unlocks_team", "team_id", "type", "target"),
)
