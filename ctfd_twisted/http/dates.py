"""Instants as they stand on the wire."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 with an offset: ``2026-11-20T12:33:04.429137+00:00``; what stored objects show."""
    return None if moment is None else moment.astimezone(UTC).isoformat()


def zulu(moment: datetime) -> str:
    """ISO 8601 with ``Z``: ``2026-11-20T12:33:04.429137Z``; what solve lists and the top of the board show."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def naive(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC without any suffix: a challenge's ``scheduled_at``."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None).isoformat()
