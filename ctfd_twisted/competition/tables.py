"""The competition's settings, which CTFd shares, and secrets of our own."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, String, Table, Text

from ctfd_twisted.db.metadata import metadata

config = Table(
    "config",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text),
    Column("value", Text),
    # A hash index takes keys of any length, as CTFd does; a B-tree of PostgreSQL refuses those above some 2,700 bytes.
    Index("ctfp_ix_config_key", "key", postgresql_using="hash"),
)

secrets = Table(
    "ctfp_secrets",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("value", Text, nullable=False),
)
