"""The last import, or trial of one, on any node: whoever asks how it goes may be answered by another."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Integer, Table, Text

from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.db.types import JSONValue, UTCDateTime

imports = Table(
    "ctfp_imports",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("began", UTCDateTime, nullable=False),
    # Without an end it goes on, or its node was killed. Either a problem, or the lines of its report.
    Column("ended", UTCDateTime),
    Column("trial", Boolean, nullable=False),
    Column("problem", Text),
    Column("lines", JSONValue),
)
