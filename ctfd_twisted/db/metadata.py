"""The one collection that every ``tables.py`` adds its tables to."""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData()
