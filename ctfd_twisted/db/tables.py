"""CTFd's mark of the schema's revision, and the leases by which nodes agree who does a thing."""

from __future__ import annotations

from sqlalchemy import Column, PrimaryKeyConstraint, String, Table

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
