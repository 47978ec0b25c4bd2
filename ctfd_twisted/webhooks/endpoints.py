"""Transactions over endpoints: registered, changed, validated, removed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Row, Select, delete, func, select, update

from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row, locked
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.webhooks.due import PENDING as OWED
from ctfd_twisted.webhooks.store import advance
from ctfd_twisted.webhooks.tables import deliveries, endpoints

PENDING, ACTIVE, DISABLED = "pending", "active", "disabled"

_UNDELIVERED: Final = ("pending", "dead")
_CHANGEABLE: Final = frozenset({"url", "events", "description", "standard_webhooks"})


class Endpoint(Struct, frozen=True):
    """An endpoint as admins see it."""

    id: int
    url: str
    events: tuple[str, ...]
    description: str | None
    standard_webhooks: bool
    state: str
    created: datetime
    validated: datetime | None
    last_success: datetime | None
    last_error: str | None
    pending_deliveries: int


def list_endpoints(conn: Connection) -> tuple[Endpoint, ...]:
    """All endpoints, the oldest first."""
    return tuple(_endpoint(row) for row in conn.execute(_shown().order_by(endpoints.c.id)))


def show_endpoint(conn: Connection, endpoint_id: int) -> Endpoint:
    """One endpoint; raises ``NotFound``."""
    row = conn.execute(_shown().where(endpoints.c.id == endpoint_id)).first()
    if row is None:
        raise NotFound
    return _endpoint(row)


def create_endpoint(
    conn: Connection,
    now: datetime,
    *,
    url: str,
    events: tuple[str, ...],
    description: str | None,
    standard_webhooks: bool,
) -> Endpoint:
    """Register *url* for *events*; nothing is sent before it is validated."""
    values = {
        "url": url,
        "events": list(events),
        "description": description,
        "standard_webhooks": standard_webhooks,
        "state": PENDING,
        "created": now,
        "failures": 0,
    }
    return show_endpoint(conn, insert_row(conn, endpoints, values))


def change_endpoint(conn: Connection, endpoint_id: int, changes: Mapping[str, Any]) -> Endpoint:
    """Store *changes* of url, events, description and standard_webhooks; a new URL must be validated again.

    What is owed already stays owed, and goes to the new URL once that is validated. Raises ``NotFound``.
    """
    known = _locked(conn, endpoint_id)
    values = {name: value for name, value in changes.items() if name in _CHANGEABLE}
    if "events" in values:
        values["events"] = list(values["events"])
    if values.get("url", known.url) != known.url:
        values |= {"state": PENDING, "validated": None, "last_error": None, "failures": 0, "failing_since": None}
    if values:
        conn.execute(update(endpoints).where(endpoints.c.id == endpoint_id).values(**values))
    return show_endpoint(conn, endpoint_id)


def activate_endpoint(conn: Connection, now: datetime, endpoint_id: int, url: str) -> Endpoint:
    """Note that *url* has just proved to know the secret: from now on it gets events, and what it is owed.

    Raises ``NotFound``, and ``Invalid`` where the endpoint has another URL by now.
    """
    # Under the log's lock: an event is either owed to this endpoint, or already in the log when its admin is answered.
    advance(conn, 0)
    if _locked(conn, endpoint_id).url != url:
        raise Invalid(url=["The URL was changed while it was being validated."])
    conn.execute(
        update(endpoints)
        .where(endpoints.c.id == endpoint_id)
        .values(state=ACTIVE, validated=now, last_error=None, failures=0, failing_since=None)
    )
    touch(conn, "webhooks")
    return show_endpoint(conn, endpoint_id)


def note_error(conn: Connection, endpoint_id: int, url: str, error: str) -> None:
    """Keep why *url* could not be validated, if it still is the endpoint's; its state stays what it was."""
    conn.execute(
        update(endpoints).where(endpoints.c.id == endpoint_id, endpoints.c.url == url).values(last_error=error)
    )


def remove_endpoint(conn: Connection, endpoint_id: int, *, force: bool) -> None:
    """Remove an endpoint with all its deliveries.

    Raises ``NotFound``, and ``Invalid`` where some were not delivered and *force* does not confirm that they are lost.
    """
    _locked(conn, endpoint_id)
    if not force:
        owed = select(func.count()).where(deliveries.c.endpoint_id == endpoint_id, deliveries.c.state.in_(_UNDELIVERED))
        undelivered = conn.execute(owed).scalar_one()
        if undelivered:
            raise Invalid(
                force=[f"{undelivered} of its deliveries have not arrived. Repeat with ?force=true to remove them too."]
            )
    conn.execute(delete(endpoints).where(endpoints.c.id == endpoint_id))


def _locked(conn: Connection, endpoint_id: int) -> Row[Any]:
    row = conn.execute(locked(select(endpoints).where(endpoints.c.id == endpoint_id), conn)).first()
    if row is None:
        raise NotFound
    return row


def _shown() -> Select[Any]:
    pending = select(func.count()).where(deliveries.c.endpoint_id == endpoints.c.id, OWED).scalar_subquery()
    return select(endpoints, pending.label("pending_deliveries"))


def _endpoint(row: Row[Any]) -> Endpoint:
    return Endpoint(
        id=row.id,
        url=row.url,
        events=tuple(row.events),
        description=row.description,
        standard_webhooks=row.standard_webhooks,
        state=row.state,
        created=row.created,
        validated=row.validated,
        last_success=row.last_success,
        last_error=row.last_error,
        pending_deliveries=row.pending_deliveries,
    )
