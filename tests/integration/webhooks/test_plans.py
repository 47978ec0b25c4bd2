"""What is due is found by indexes alone, also on a database that was analysed when it was empty, or never."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from ctfd_twisted.testing.webhooks import an_endpoint
from ctfd_twisted.webhooks import backlog, outbox, records, store
from ctfd_twisted.webhooks.events import EXAMPLES
from ctfd_twisted.webhooks.outbox import Claim
from ctfd_twisted.webhooks.outcomes import Attempt, Sent
from ctfd_twisted.webhooks.records import Look

ENDPOINTS, EVENTS = 10, 500
LARGE = ("ctfp_webhook_deliveries", "ctfp_webhook_events", "ctfp_webhook_attempts")


def settle(conn: Connection, now: datetime, claims: tuple[Claim, ...], look: int = 0) -> tuple[Claim, ...]:
    """Record that *claims* have arrived, and what is claimed in their place."""
    attempt = Attempt(now, 7, (("A", "b"),), 200, None, b"")
    asked: list[Sent | Look] = [Sent(now, claim, attempt, 0.5, more=True, anywhere=False) for claim in claims]
    asked += [Look(now, look)] if look else []
    settled = records.settle("node", lambda *_: None, conn, asked, alone=False)
    return tuple(
        claim for one in settled if isinstance(one, records.Settled) and one.claims for claim in one.claims.claims
    )


def deliver(conn: Connection, now: datetime, times: int) -> int:
    """Let *times* events arrive everywhere, one after another; how many deliveries that were."""
    arrived, claims = 0, settle(conn, now, (), look=64)
    for _ in range(times):
        arrived += len(claims)
        claims = settle(conn, now, claims) if claims else ()
    return arrived


def own(conn: Connection, figure: str) -> int:
    """A figure of what this transaction did to the large tables."""
    wanted = f"SELECT sum({figure}) FROM pg_stat_xact_user_tables WHERE relname = ANY(:names)"  # noqa: S608 - our own
    return int(conn.execute(text(wanted), {"names": list(LARGE)}).scalar_one())


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("analysed", [False, True])
def test_no_table_is_read_whole_to_deliver_a_backlog(any_conn: Connection, now: datetime, *, analysed: bool) -> None:
    for number in range(ENDPOINTS):
        an_endpoint(any_conn, url=f"http://{number}/")
    store.emit(any_conn, now, *EXAMPLES[:1] * 12)
    if analysed:
        any_conn.execute(text(f"ANALYZE {', '.join(LARGE)}, ctfp_webhook_endpoints"))
    # So often that every plan is one for any parameters, and kept.
    assert deliver(any_conn, now, 12) == 12 * ENDPOINTS
    store.emit(any_conn, now, *EXAMPLES[:1] * EVENTS)
    scans, touched = own(any_conn, "seq_scan"), own(any_conn, "idx_tup_fetch")
    assert deliver(any_conn, now, 20) == 20 * ENDPOINTS
    assert outbox.is_due(any_conn, now)
    assert backlog.read_backlog(any_conn, now).owed == (EVENTS - 20) * ENDPOINTS
    assert own(any_conn, "seq_scan") - scans == 0
    assert own(any_conn, "idx_tup_fetch") - touched < 20 * ENDPOINTS * 40


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_table_of_a_file_is_read_whole_either(any_conn: Connection, now: datetime) -> None:
    for number in range(ENDPOINTS):
        an_endpoint(any_conn, url=f"http://{number}/")
    store.emit(any_conn, now, *EXAMPLES[:1] * 3)
    sent: list[tuple[str, Any]] = []
    event.listen(any_conn, "before_cursor_execute", lambda *facts: sent.append((facts[2], facts[3])))
    assert deliver(any_conn, now, 1) == ENDPOINTS
    outbox.is_due(any_conn, now)
    outbox.release(any_conn, "node")
    many = [(sql, values[0] if isinstance(values[0], list | tuple) else values) for sql, values in sent if values]
    plans = [row[3] for sql, one in many for row in any_conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", tuple(one))]
    scans = tuple(f"SCAN {table}" for table in LARGE)
    assert [step for step in plans if step.startswith(scans) and "INDEX" not in step] == []
    for index in ("due", "claimed"):
        assert any(f"ctfp_ix_webhook_deliveries_{index}" in step for step in plans)
