"""The dispatcher's statements over what is due.

Their plans must be right on a database that nobody has analysed yet, or that was analysed when it was empty: at the
start of an event a thousand deliveries are owed within seconds. So each looks through one of two partial indexes, whose
conditions are written out here and not given as parameters: a plan for any parameter can't rely on a condition with
one.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    bindparam,
    func,
    literal_column,
    null,
    or_,
    select,
    text,
    type_coerce,
    union_all,
    update,
)

from ctfd_twisted.competition.tables import config
from ctfd_twisted.competition.tables import secrets as kept
from ctfd_twisted.db.among import among
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.db.types import UTCDateTime
from ctfd_twisted.webhooks.shared_secret import NAME
from ctfd_twisted.webhooks.tables import deliveries, endpoints, events, retired_secrets

#: Deliveries that are still owed, and those that were given up: conditions of the partial indexes.
PENDING: Final = deliveries.c.state == literal_column("'pending'")
DEAD: Final = deliveries.c.state == literal_column("'dead'")
ACTIVE_NOW: Final = endpoints.c.state == literal_column("'active'")
#: Marks of who sends what are on pending ones only.
CLAIMED: Final = (PENDING, deliveries.c.claimed_until.is_not(None))
#: What was never tried.
FRESH: Final = deliveries.c.next_attempt.is_(None)

_NOW: Final[Any] = bindparam("now", type_=UTCDateTime())
_UNCLAIMED: Final = or_(deliveries.c.claimed_until.is_(None), deliveries.c.claimed_until <= _NOW)
_AGAIN: Final = deliveries.c.next_attempt <= _NOW
_MINE: Final = deliveries.c.endpoint_id == endpoints.c.id

# A planner that knows nothing of a table, or knew it when it had one page, would read all of it.
_INDEXES: Final = Ready(text("SELECT set_config('seq_page_cost', '1000', true)"))


def by_indexes(conn: Connection) -> None:
    """Let PostgreSQL's planner prefer indexes for the rest of this transaction; SQLite does so always."""
    if conn.dialect.name == "postgresql":
        _INDEXES.all(conn)


def _first(column: ColumnElement[Any], which: ColumnElement[bool]) -> ScalarSelect[Any]:
    # In the order of the index, and one: so it is never answered by going through all that are owed.
    return (
        select(column)
        .where(_MINE, PENDING, which, _UNCLAIMED)
        .order_by(deliveries.c.next_attempt, deliveries.c.seq)
        .limit(1)
        .correlate(endpoints)
        .scalar_subquery()
    )


def _under_way(which: ColumnElement[bool]) -> ScalarSelect[Any]:
    claimed = select(func.count()).select_from(deliveries).where(_MINE, PENDING, deliveries.c.claimed_until > _NOW)
    return claimed.where(which).correlate(endpoints).scalar_subquery()


_HAS_DUE: Final = or_(
    _first(deliveries.c.seq, FRESH).is_not(None),
    _first(deliveries.c.seq, _AGAIN).is_not(None),
)

#: Whether anything is due at ``now``.
IS_DUE: Final = Ready(select(endpoints.c.id).where(ACTIVE_NOW, _HAS_DUE).limit(1))
#: The endpoints to which something is due, but for those that somebody else is looking at; they stay locked.
LOCK_DUE: Final = Ready(
    select(endpoints.c.id)
    .where(ACTIVE_NOW, _HAS_DUE)
    .order_by(endpoints.c.id)
    .with_for_update(key_share=True, skip_locked=True)
)
#: Of the active ones among ``ids``: the oldest that was never tried, the first retry that is due, and how much is under
#: way. Asked under their locks, or another node's claims might be missed.
STATE: Final = Ready(
    select(
        endpoints.c.id,
        endpoints.c.url,
        endpoints.c.standard_webhooks,
        endpoints.c.failures,
        _first(deliveries.c.id, FRESH).label("fresh"),
        _first(deliveries.c.seq, FRESH).label("fresh_seq"),
        _first(deliveries.c.seq, _AGAIN).label("again"),
        _under_way(FRESH).label("fresh_under_way"),
        _under_way(deliveries.c.next_attempt.is_not(None)).label("again_under_way"),
    ).where(among(endpoints.c.id, "ids"), ACTIVE_NOW)
)
#: The next ``room`` retries to ``endpoint``.
RETRIES: Final = Ready(
    select(deliveries.c.seq, deliveries.c.id)
    .where(deliveries.c.endpoint_id == bindparam("endpoint"), PENDING, _AGAIN, _UNCLAIMED)
    .order_by(deliveries.c.next_attempt, deliveries.c.seq)
    .limit(bindparam("room"))
)


#: Mark ``ids`` as sent by ``node`` until ``until``.
MARK: Final = Ready(
    update(deliveries)
    .where(among(deliveries.c.id, "ids"))
    .values(claimed_by=bindparam("node"), claimed_until=bindparam("until", type_=UTCDateTime()))
    .returning(deliveries.c.id, deliveries.c.endpoint_id, deliveries.c.seq, deliveries.c.attempts)
)
#: What is told of the events numbered ``seqs``, once for all whom it is told to.
EVENTS: Final = Ready(select(events.c.seq, events.c.event, events.c.body).where(among(events.c.seq, "seqs")))


def _said(what: str, number: Any, name: Any, value: Any) -> Select[Any]:
    none = type_coerce(null(), UTCDateTime()).label("expires")
    return select(
        literal_column(what).label("what"), number.label("id"), name.label("name"), value.label("value"), none
    )


#: The shared secrets, and the settings of where webhooks may go, in one look: rows of ``what`` they are.
TERMS: Final = Ready(
    union_all(
        select(
            literal_column("'retired'").label("what"),
            retired_secrets.c.id.label("id"),
            literal_column("''").label("name"),
            retired_secrets.c.secret.label("value"),
            retired_secrets.c.expires.label("expires"),
        ).where(retired_secrets.c.expires > _NOW),
        _said("'secret'", literal_column("0"), kept.c.name, kept.c.value).where(kept.c.name == NAME),
        _said("'config'", config.c.id, config.c.key, config.c.value).where(
            config.c.key.in_([literal_column("'egress_deny'"), literal_column("'egress_private'")])
        ),
    )
)
