"""CTFd's mark of the schema's revision, leases by which nodes agree who does a thing, news in an SQLite file."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, String, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import UTCDateTime

alembic_version = Table(
    "alembic_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

leases = Table(
    "ctfp_leases",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("holder", String(128), nullable=False),
    Column("expires", UTCDateTime, nullable=False),
)

# What processes on one SQLite file tell each other (sqlite_news.py). On PostgreSQL, which has NOTIFY, they stay empty.
news = Table(
    "ctfp_news",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("node", String(32), nullable=False),
    Column("topics", Text, nullable=False),
)
# One row, which the triggers of other programs' writes change.
others = Table(
    "ctfp_others",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("mark", BigInteger, nullable=False),
    Column("step", Integer, nullable=False),
)
