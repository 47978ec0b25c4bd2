"""Column types that turn what CTFd stores into values that can be trusted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator


class UTCDateTime(TypeDecorator[datetime]):
    """An instant: aware UTC in Python, naive UTC in the database.

    SQLite keeps the text ``YYYY-MM-DD HH:MM:SS.ffffff``, as CTFd does, so that comparing texts compares instants. A
    naive value is a mistake of the caller and raises ``ValueError``.
    """

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's interface
        """Store *value* as naive UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the database takes aware instants")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's interface
        """Read a stored instant as aware UTC."""
        if value is None:
            return None
        # Text written by hand into SQLite may carry an offset; it is obeyed.
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JSONValue(TypeDecorator[Any]):
    """Any JSON value; SQL NULL and a stored JSON ``null`` both read as ``None``, which is stored as SQL NULL."""

    impl = JSON(none_as_null=True)
    cache_ok = True


class JSONObject(TypeDecorator[dict[str, Any]]):
    """A JSON object or ``None``.

    CTFd 2.0 and 2.1 stored requirements encoded twice, so a string is decoded once more. What is no object then (JSON
    ``null``, text, a list) reads as ``None``: no rule can be taken from it.
    """

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_result_value(self, value: object, dialect: Dialect) -> dict[str, Any] | None:  # noqa: ARG002 - SQLAlchemy's interface
        """Read an object, decoding it again where it was encoded twice."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return None
        return value if isinstance(value, dict) else None
