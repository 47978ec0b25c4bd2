"""How often the database is asked: for tests that claim that a list costs the same whatever its length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event

from ctfd_twisted.db.engine import Engines

_EVENT = "before_cursor_execute"


@contextmanager
def counted_statements(where: Connection | Engines) -> Iterator[list[str]]:
    """The statements that are sent on *where* within the block, in their order.

    One statement with many rows of parameters is one; what begins and ends a transaction is none.
    """
    sent: list[str] = []

    def note(*facts: Any) -> None:
        sent.append(facts[2])

    targets: set[Connection | Engine] = (
        {where} if isinstance(where, Connection) else {where.read_engine, where.write_engine}
    )
    for target in targets:
        event.listen(target, _EVENT, note)
    try:
        yield sent
    finally:
        for target in targets:
            event.remove(target, _EVENT, note)
