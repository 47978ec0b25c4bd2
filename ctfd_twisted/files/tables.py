"""Our own table beside CTFd's ``files``, which is among the challenges' tables."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import UTCDateTime

#: Locations at which there may be content that no file's row names: content that comes, before its row is committed
#: (``since`` that instant), and content whose row is gone (``since`` is NULL). What a killed process leaves behind
#: is found here. No index: there are never many, and a B-tree of PostgreSQL refuses long text.
loose = Table(
    "ctfp_loose_files",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("location", Text, nullable=False),
    Column("since", UTCDateTime),
)
