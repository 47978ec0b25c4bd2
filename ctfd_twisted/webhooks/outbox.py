"""Transactions of the dispatcher: claim what is due, and give claims back.

A claim is a mark with an end on a delivery. Several nodes may claim at once: each takes endpoints that no other is
looking at in that moment, and sees under the endpoint's lock what is under way to it, whoever sends it. So the limits
and the order hold for all nodes together, and what a killed node had claimed is claimed anew when its mark has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, update

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.webhooks.due import CLAIMED, EVENTS, IS_DUE, LOCK_DUE, MARK, RETRIES, STATE, TERMS, by_indexes
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.rules import EXCHANGE, lanes
from ctfd_twisted.webhooks.shared_secret import SharedSecret, read_shared_secret
from ctfd_twisted.webhooks.tables import deliveries

#: How long a claim is believed: one exchange, and time to record it.
CLAIM: Final = timedelta(seconds=EXCHANGE + 5)


class Claim(Struct, frozen=True):
    """One delivery that this node may send now; *attempts* were made before."""

    delivery_id: str
    endpoint_id: int
    url: str
    standard_webhooks: bool
    event: str
    body: bytes
    attempts: int


class Claims(Struct, frozen=True):
    """What was claimed, and what is needed to send it."""

    claims: tuple[Claim, ...]
    secret: SharedSecret
    egress: Egress


def is_due(conn: Connection, now: datetime) -> bool:
    """Whether anything might be claimed at *now*; cheap, for asking often."""
    by_indexes(conn)
    return IS_DUE.first(conn, {"now": now}) is not None


def claim_due(conn: Connection, now: datetime, node: str, room: int) -> Claims | None:
    """Claim for *node* up to *room* deliveries that are due, at most as many per endpoint as its lanes allow.

    To one endpoint the events that were never tried go one after another in their order, beside retries; while its
    circuit is open there is one lane, and what was never tried comes first. None where nothing was claimed.
    """
    return claim_next(conn, now, node, room, [row.id for row in LOCK_DUE.all(conn, {"now": now})])


def claim_next(conn: Connection, now: datetime, node: str, room: int, locked: Sequence[int]) -> Claims | None:
    """``claim_due`` for endpoints that this transaction has *locked*; the inactive among them get nothing."""
    if not locked or room <= 0:
        return None
    found = STATE.all(conn, {"now": now, "ids": locked})
    turns = _turns(conn, now, found)
    if not turns:
        return None
    # One of each endpoint before the second of any, and the oldest events first: nobody waits for ever.
    chosen = [delivery_id for _, _, delivery_id in sorted(turns)[:room]]
    marked = MARK.all(conn, {"ids": chosen, "node": node, "until": now + CLAIM})
    to = {row.id: row for row in found}
    told = {row.seq: row for row in EVENTS.all(conn, {"seqs": sorted({row.seq for row in marked})})}
    marked.sort(key=lambda row: (row.seq, row.endpoint_id))
    claims = tuple(_claim(row, to[row.endpoint_id], told[row.seq]) for row in marked)
    return Claims(claims, *_terms(conn, now))


def release(conn: Connection, node: str) -> None:
    """Give back every claim of *node*, so that another need not wait for its end."""
    mine = update(deliveries).where(*CLAIMED, deliveries.c.claimed_by == node)
    conn.execute(mine.values(claimed_by=None, claimed_until=None))
    touch(conn, "webhooks")


def egress_of(competition: Competition) -> Egress:
    """The settings of where webhooks may go."""
    return Egress.of(competition.text("egress_deny"), private=competition.truthy("egress_private", default=True))


def _turns(conn: Connection, now: datetime, found: Sequence[Any]) -> list[tuple[int, int, str]]:
    """Turn, number and id of all that may be claimed: of each endpoint the oldest never tried, then retries."""
    lines: dict[int, list[tuple[int, str]]] = {}
    asked: list[dict[str, Any]] = []
    for row in found:
        room = lanes(row.failures) - row.fresh_under_way - row.again_under_way
        line = lines[row.id] = []
        if room > 0 and row.fresh is not None and not row.fresh_under_way:
            line.append((row.fresh_seq, row.fresh))
        if row.again is not None and room > len(line):
            asked.append({"endpoint": row.id, "now": now, "room": room - len(line)})
    for one, retries in zip(asked, RETRIES.each(conn, asked), strict=True):
        lines[one["endpoint"]].extend((row.seq, row.id) for row in retries)
    return [(turn, seq, which) for line in lines.values() for turn, (seq, which) in enumerate(line)]


def _claim(row: Any, endpoint: Any, told: Any) -> Claim:
    return Claim(row.id, row.endpoint_id, endpoint.url, endpoint.standard_webhooks, told.event, told.body, row.attempts)


def _terms(conn: Connection, now: datetime) -> tuple[SharedSecret, Egress]:
    """The secrets that sign, and where webhooks may go."""
    rows = sorted(TERMS.all(conn, {"now": now}), key=lambda row: -row.id)
    egress = egress_of(Competition({row.name: row.value for row in rows if row.what == "config"}))
    present = [row.value for row in rows if row.what == "secret"]
    if not present:
        return read_shared_secret(conn, now), egress
    retired = tuple((row.value, row.expires) for row in rows if row.what == "retired")
    return SharedSecret(present[0], retired), egress
