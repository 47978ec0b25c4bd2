"""What a commit tells the rest of the node: topics.

A transaction names what it changed with :func:`touch`; ``Database.run`` hands the names to the :class:`Bus` after the
commit, before the caller gets its answer. Snapshots named by a topic are dropped, services that wait for one wake up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sqlalchemy import Connection
from twisted.logger import Logger

#: The topic that concerns everybody: another program wrote to the database, and what it changed is not known.
EVERYTHING: Final = "*"

_TOPICS: Final = "ctfp_topics"

Subscriber = Callable[[frozenset[str]], None]


def touch(conn: Connection, *topics: str) -> None:
    """Tell *topics* to every node if, and only if, the transaction of *conn* commits."""
    conn.info.setdefault(_TOPICS, set()).update(topics)


def taken_topics(conn: Connection) -> frozenset[str]:
    """The topics touched on *conn* so far; they are forgotten there."""
    return frozenset(conn.info.pop(_TOPICS, ()))


class Bus:
    """The topics of commits, to everyone on this node who asked for them, in the reactor's thread."""

    _log = Logger()

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call *subscriber* with each commit's topics; the function returned ends it."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            self._subscribers.remove(subscriber)

        return unsubscribe

    def publish(self, topics: Iterable[str]) -> None:
        """Tell *topics*. A subscriber that fails is logged and does not keep the news from the others."""
        told = frozenset(topics)
        if not told:
            return
        for subscriber in tuple(self._subscribers):
            with self._log.failuresHandled("a subscriber of the bus failed"):
                subscriber(told)


def concerns(topics: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether one who wants *wanted* must act on *topics*."""
    return EVERYTHING in topics or not topics.isdisjoint(wanted)
