"""Own tables of the accounts feature; CTFd keeps sessions in a cache and does not record a token's last use."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, String, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import UTCDateTime

# A row per signed-in browser. The cookie's session id never stands here, only its SHA-256, so a stolen copy of the
# database opens no session. Anonymous sessions and those of access tokens need no row.
sessions = Table(
    "ctfp_sessions",
    metadata,
    Column("sid_hash", String(64), primary_key=True),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("password_mac", String(64), nullable=False),
    Column("created", UTCDateTime, nullable=False),
    Column("expires", UTCDateTime, nullable=False, index=True),
    Column("seen", UTCDateTime, nullable=False),
    Column("address", String(46), nullable=False),
    Column("user_agent", Text, nullable=False),
)

# Last use of an access token; a table of its own because ``tokens`` belongs to CTFd's schema.
token_uses = Table(
    "ctfp_token_uses",
    metadata,
    Column("token_id", Integer, ForeignKey("tokens.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("used", UTCDateTime, nullable=False),
)
