"""Own tables of king of the hill: a hill's settings and state, its ticks, and what administrators took back."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONValue, UTCDateTime

hills = Table(
    "ctfp_hills",
    metadata,
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # The settings, as an administrator gave them. Lengths of time are seconds, but ``reset_every`` is minutes.
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
    # The schedule: tick k is due at ``first_tick + k * interval``; ``next_tick`` is the first not recorded yet.
    # ``running`` says that ticks have been due without a break since the last look: what lies between was missed.
    Column("first_tick", UTCDateTime),
    Column("next_tick", Integer, nullable=False),
    Column("running", Boolean, nullable=False),
    # Who is king, since which tick (its number and its due time), and how many ticks have found them in this reign.
    Column("king_user_id", ForeignKey("users.id", ondelete="SET NULL")),
    Column("king_team_id", ForeignKey("teams.id", ondelete="SET NULL")),
    Column("king_since", UTCDateTime),
    Column("reign", Integer),
    Column("reign_ticks", Integer, nullable=False),
    Column("last_outcome", String(16)),
    Column("failures", Integer, nullable=False),
    # A reset is asked for (by an administrator), then under way since an instant; the last one began at ``last_reset``.
    Column("reset_asked", Boolean, nullable=False),
    Column("resetting_since", UTCDateTime),
    Column("last_reset", UTCDateTime),
    # Why the last reset did not bring back an unowned target; NULL where it did.
    Column("reset_problem", Text),
    Index("ctfp_ix_hills_king_user", "king_user_id"),
    Index("ctfp_ix_hills_king_team", "king_team_id"),
)

# What an administrator took back: whole ranges of ticks, with the reason and the name of who did it.
voids = Table(
    "ctfp_voids",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE"), nullable=False),
    Column("from_tick", Integer, nullable=False),
    Column("to_tick", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("author_id", ForeignKey("users.id", ondelete="SET NULL")),
    Column("author", String(128), nullable=False),
    Column("date", UTCDateTime, nullable=False),
    Column("undone", UTCDateTime),
    Column("undone_by", String(128)),
    Index("ctfp_ix_voids_challenge", "challenge_id"),
    Index("ctfp_ix_voids_author", "author_id"),
)

ticks = Table(
    "ctfp_ticks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id", ondelete="CASCADE"), nullable=False),
    Column("tick", Integer, nullable=False),
    Column("due", UTCDateTime, nullable=False),
    # A tick that was not asked (missed, overrun, resetting) has none of the next three.
    Column("started", UTCDateTime),
    Column("latency_ms", Integer),
    Column("status", Integer),
    Column("outcome", String(16), nullable=False),
    Column("identifier", Text),
    # Who the identifier stands for, also where they are not eligible.
    Column("user_id", ForeignKey("users.id", ondelete="SET NULL")),
    Column("team_id", ForeignKey("teams.id", ondelete="SET NULL")),
    # The number of the first tick of the reign that this one belongs to, where it found a king.
    Column("reign", Integer),
    # The award and its value. Taken back, the value stays here, so that it can be given again.
    Column("points", Integer, nullable=False),
    Column("award_id", ForeignKey("awards.id", ondelete="SET NULL")),
    Column("signed", Boolean),
    Column("detail", Text),
    # [{"step", "status", "latency_ms", "body"}]: the first 256 bytes of each answer, undecodable ones escaped.
    Column("answers", JSONValue),
    # While a void holds, ``outcome`` is "void" and the former outcome stands here.
    Column("void_id", ForeignKey("ctfp_voids.id", ondelete="SET NULL")),
    Column("voided", String(16)),
    # A tick is recorded once, whatever happens.
    UniqueConstraint("challenge_id", "tick", name="ctfp_uq_ticks_tick"),
    Index("ctfp_ix_ticks_reign", "challenge_id", "reign"),
    Index("ctfp_ix_ticks_user", "user_id", "challenge_id"),
    Index("ctfp_ix_ticks_team", "team_id", "challenge_id"),
    Index("ctfp_ix_ticks_award", "award_id"),
    Index("ctfp_ix_ticks_void", "void_id"),
)
