"""How often the database is asked: for tests that claim that a list costs the same whatever its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from twisted.web.http import OK

from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing.platform import Client, MemoryPlatform

#: How many of everything a small event has, and a large one.
FEW: Final = 2
MANY: Final = 30

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


def small_and_large(make: Callable[[int], MemoryPlatform]) -> Iterator[list[MemoryPlatform]]:
    """For a fixture: ``make(FEW)`` and ``make(MANY)``, which are closed at the end."""
    platforms = [make(count) for count in (FEW, MANY)]
    yield platforms
    for platform in platforms:
        platform.close()


def cost(platform: MemoryPlatform, client: Client, path: str) -> int:
    """How many statements *client* causes by asking for *path* when nothing is in memory."""
    platform.run(lambda conn: touch(conn, EVERYTHING))
    with counted_statements(platform.db.engines) as sent:
        reply = client.get(path)
    if reply.status != OK:
        raise AssertionError((reply.status, reply.body))
    return len(sent)
