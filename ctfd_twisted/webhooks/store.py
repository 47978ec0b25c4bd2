"""What other features call: telling the webhooks' log what happened, in the transaction in which it happens.

``emit`` numbers events without a gap, in the order in which transactions commit. So it locks one counter row from the
call to the commit, and on PostgreSQL transactions that emit follow one another from there: **emit last**.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, bindparam, func, insert, not_, select, text

from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.tables import solves
from ctfd_twisted.webhooks.bodies import king_changed, solve_created, team_created, user_created
from ctfd_twisted.webhooks.events import Event, FirstBloodCreated, SolveCreated
from ctfd_twisted.webhooks.tables import deliveries, endpoints, events

__all__ = [
    "NewSolve", "advance", "emit", "emit_solve", "emit_solves",
    "king_changed", "solve_created", "team_created", "user_created",
]  # fmt: skip

# Both dialects read it alike. The row stays locked until the commit, so nobody else is given a number before this one
# is known to be used or given back.
_ADVANCE: Final = Ready(text(
    "INSERT INTO ctfp_webhook_sequence (id, seq) VALUES (1, :count)"
    " ON CONFLICT (id) DO UPDATE SET seq = ctfp_webhook_sequence.seq + :count RETURNING seq"
))  # fmt: skip
_COLUMNS: Final = ("seq", "event", "body", "created")
# That nobody listens is the common case in the hottest transaction, a right answer; so the insert itself answers it.
_LISTENING: Final = (
    select(func.count())
    .select_from(endpoints)
    .where(endpoints.c.state == "active")
    .scalar_subquery()
    .label("listening")
)
_RECORD: Final = insert(events).returning(_LISTENING)
_RECORD_ONE: Final = Ready(_RECORD, _COLUMNS)
# The share lock keeps an endpoint from being removed between here and the insert of what it is owed.
_LISTENERS: Final = (
    select(endpoints.c.id, endpoints.c.events)
    .where(endpoints.c.state == "active")
    .with_for_update(read=True, key_share=True)
)


class NewSolve(msgspec.Struct, frozen=True):
    """A solve of *at*; ``listed``: the account that solved is neither hidden nor banned."""

    at: datetime
    solve: SolveCreated
    listed: bool


def emit(conn: Connection, now: datetime, *happened: Event) -> None:
    """Write *happened* to the log, in order, and owe each to every active endpoint that asked for it.

    Costs two statements where no endpoint is active, and two more where one is, whatever the number of events.
    """
    if not happened:
        return
    first = advance(conn, len(happened)) - len(happened) + 1
    rows = [
        {"seq": seq, "event": event.NAME, "body": event.body(), "created": now}
        for seq, event in enumerate(happened, first)
    ]
    if _RECORD_ONE.scalar(conn, rows[0]) if len(rows) == 1 else conn.execute(_RECORD, rows).scalars().all()[0]:
        _owe(conn, rows)


def emit_solve(conn: Connection, now: datetime, solve: SolveCreated, *, listed: bool, teams_mode: bool) -> None:
    """``emit_solves`` for one."""
    emit_solves(conn, (NewSolve(now, solve, listed),), teams_mode=teams_mode)


def emit_solves(conn: Connection, solved: Sequence[NewSolve], *, teams_mode: bool) -> None:
    """Emit ``solve.created`` for solves stored in this transaction, and ``first_blood.created`` where one is the first.

    Whether a listed account was earlier is asked under the log's lock, so of two solves at once exactly one is the
    first: of those given here the one that is given first.
    """
    first = advance(conn, len(solved)) - len(solved) + 1
    rows = [
        {"seq": seq, "event": one.solve.NAME, "body": one.solve.body(), "created": one.at}
        for seq, one in enumerate(solved, first)
    ]
    own = Counter(one.solve.challenge_id for one in solved if one.listed)
    facts = [
        {**row, "challenge": one.solve.challenge_id, "most": own[one.solve.challenge_id] + 1}
        for row, one in zip(rows, solved, strict=True)
    ]
    found = [row for (row,) in _RECORD_SOLVE[teams_mode].each(conn, facts)]
    if found[0].listening:
        _owe(conn, rows)
    bloods: dict[int, NewSolve] = {}
    for row, one in zip(found, solved, strict=True):
        if one.listed and row.solvers == own[one.solve.challenge_id]:
            bloods.setdefault(one.solve.challenge_id, one)
    for one in bloods.values():
        emit(conn, one.at, FirstBloodCreated.of(one.solve))


def advance(conn: Connection, count: int) -> int:
    """Take the next *count* numbers and return the last one taken.

    With 0 it only waits for those who are emitting: whoever does that sees the log complete, and is seen by all who
    emit later.
    """
    return int(_ADVANCE.scalar(conn, {"count": count}))


def _owe(conn: Connection, rows: Sequence[dict[str, Any]]) -> None:
    listeners = conn.execute(_LISTENERS).all()
    owed = [
        {
            "id": f"whd_{secrets.token_hex(16)}",
            "endpoint_id": endpoint.id,
            "seq": row["seq"],
            "state": "pending",
            "attempts": 0,
            "created": row["created"],
        }
        for row in rows
        for endpoint in listeners
        if row["event"] in endpoint.events
    ]
    if owed:
        conn.execute(insert(deliveries), owed)
        touch(conn, "webhooks")


def _recording(*, teams_mode: bool) -> Ready:
    """The insert of a solve's event, which also tells how many listed accounts have solved it, ``most`` at most."""
    kind = account_kind(teams_mode=teams_mode)
    unlisted = select(kind.table.c.id).where(not_(kind.listed))
    some = (
        select(solves.c.id)
        .where(
            solves.c.challenge_id == bindparam("challenge"),
            kind.of(solves).is_not(None),
            kind.of(solves).not_in(unlisted),
        )
        .limit(bindparam("most"))
        .subquery()
    )
    solvers = select(func.count()).select_from(some).scalar_subquery().label("solvers")
    return Ready(insert(events).returning(_LISTENING, solvers), _COLUMNS)


_RECORD_SOLVE: Final = {teams_mode: _recording(teams_mode=teams_mode) for teams_mode in (False, True)}
