"""What many read alike, kept in memory and rebuilt after a commit that touches it.

A snapshot is built by one read transaction. A commit's topics drop it; the next reader starts one build, and whoever
asks meanwhile waits for that one. A build that was under way when a topic arrived is given to those who asked before
the topic, and kept for nobody: what is answered is never older than the last commit before the question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import Connection
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import Bus, concerns

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Slot(Generic[T]):
    """One value: absent, being built (with those who wait for it), or there."""

    __slots__ = ("building", "topics", "value", "waiting", "weight")

    def __init__(self) -> None:
        self.value: T | None = None
        self.weight = 0
        self.topics: tuple[str, ...] = ()
        self.building = False
        self.waiting: list[Deferred[T]] = []

    def get(self, build: Callable[[], Deferred[T]]) -> Deferred[T]:
        """What *build* makes; whoever asks while it is under way waits for that one."""
        # Without a canceller of its own: one reader that goes away does not take the build from the others.
        waiter: Deferred[T] = Deferred()
        self.waiting.append(waiter)
        if not self.building:
            self.building = True
            try:
                build().addCallbacks(self._built, self._failed)
            except BaseException:  # noqa: BLE001 - told to all who wait
                self._failed(Failure())
        return waiter

    def _built(self, value: T) -> None:
        self.building = False
        self.value = value
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            waiter.callback(value)

    def _failed(self, failure: Failure) -> None:
        self.building = False
        waiting, self.waiting = self.waiting, []
        for waiter in waiting:
            waiter.errback(failure)


class Snapshot(Generic[T]):
    """One value built by ``build(conn)``.

    :param topics: which commits make it stale.
    :param until: the instant from which a value is stale without any commit (a challenge's release, a freeze), or None.
    """

    def __init__(
        self,
        db: Database,
        bus: Bus,
        build: Callable[[Connection], T],
        topics: Iterable[str],
        *,
        until: Callable[[T], datetime | None] | None = None,
    ) -> None:
        self._db = db
        self._build = build
        self._topics = frozenset(topics)
        self._until = until
        self._slot: Slot[T] = Slot()
        bus.subscribe(self._heard)

    def ready(self, now: datetime | None = None) -> T | None:
        """The value if it is there and, where *now* is given, still good at *now*."""
        value = self._slot.value
        if value is not None and now is not None and self._until is not None:
            until = self._until(value)
            if until is not None and now >= until:
                self._slot = Slot()
                return None
        return value

    def get(self, now: datetime | None = None) -> Awaitable[T]:
        """The value, built first where it has to be."""
        value = self.ready(now)
        if value is not None:
            return _given(value)
        return self._slot.get(lambda: self._db.build(self._build))

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, self._topics):
            self._slot = Slot()


class NamedIn(msgspec.Struct, Generic[T], frozen=True):
    """Which commits make a value stale, by what is in it: their topics, all of which begin with *prefix*."""

    prefix: str
    topics: Callable[[T], Iterable[str]]


class KeyedSnapshots(Generic[K, T]):
    """The same per key, for the *limit* keys asked for last: ``build(conn, key)``.

    :param topics: which commits make every key's value stale.
    :param topics_of: which further commits make one key's value stale, for example ``{f"user:{key}"}``.
    :param named_in: the same by the value itself.
    :param weigh: how many bytes a value takes; those asked for last are kept that, with their keys, together fit into
        *room*.
    """

    def __init__(
        self,
        db: Database,
        bus: Bus,
        build: Callable[[Connection, K], T],
        topics: Iterable[str],
        *,
        topics_of: Callable[[K], Iterable[str]] | None = None,
        named_in: NamedIn[T] | None = None,
        limit: int = 10_000,
        weigh: Callable[[T], int] | None = None,
        room: int = 0,
    ) -> None:
        self._db = db
        self._build = build
        self._topics = frozenset(topics)
        self._topics_of = topics_of
        self._named_in = named_in
        self._limit = limit
        self._weigh = weigh
        self._room = room
        self._weight = 0
        self._slots: OrderedDict[K, Slot[T]] = OrderedDict()
        # Those whose value is not known yet, and so not either which topics it names.
        self._coming: set[K] = set()
        self._keys_by_topic: dict[str, set[K]] = {}
        bus.subscribe(self._heard)

    def ready(self, key: K) -> T | None:
        """The value of *key* if it is there."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        self._slots.move_to_end(key)
        return slot.value

    def get(self, key: K) -> Awaitable[T]:
        """The value of *key*, built first where it has to be."""
        slot = self._slots.get(key)
        if slot is None:
            slot = self._add(key)
        elif slot.value is not None:
            return _given(slot.value)
        return slot.get(lambda: self._built(key, slot))

    def _built(self, key: K, slot: Slot[T]) -> Deferred[T]:
        if self._named_in is not None:
            self._coming.add(key)
        return self._db.build(self._build, key).addCallback(self._came, key, slot)

    def _came(self, value: T, key: K, slot: Slot[T]) -> T:
        """*value* of *key*, when there is room for it: what was not asked for longest is forgotten."""
        if self._slots.get(key) is not slot:
            return value
        if self._named_in is not None:
            self._coming.discard(key)
            self._watch(key, slot, self._named_in.topics(value))
        if self._weigh is not None:
            # A key may hold what somebody searched for, which takes up to four bytes a character.
            slot.weight = self._weigh(value) + 4 * len(repr(key))
            self._weight += slot.weight
            while self._weight > self._room:
                self._forget(next(iter(self._slots)))
        return value

    def _add(self, key: K) -> Slot[T]:
        slot = self._slots[key] = Slot()
        if self._topics_of is not None:
            self._watch(key, slot, self._topics_of(key))
        while len(self._slots) > self._limit:
            self._forget(next(iter(self._slots)))
        return slot

    def _watch(self, key: K, slot: Slot[T], topics: Iterable[str]) -> None:
        more = tuple(topics)
        slot.topics += more
        for topic in more:
            self._keys_by_topic.setdefault(topic, set()).add(key)

    def _forget(self, key: K) -> None:
        slot = self._slots.pop(key, None)
        if slot is None:
            return
        self._coming.discard(key)
        self._weight -= slot.weight
        for topic in slot.topics:
            keys = self._keys_by_topic.get(topic)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._keys_by_topic[topic]

    def _heard(self, topics: frozenset[str]) -> None:
        if concerns(topics, self._topics):
            self._slots.clear()
            self._coming.clear()
            self._keys_by_topic.clear()
            self._weight = 0
            return
        if self._coming and self._named_in and any(topic.startswith(self._named_in.prefix) for topic in topics):
            for key in tuple(self._coming):
                self._forget(key)
        for topic in topics & self._keys_by_topic.keys():
            for key in tuple(self._keys_by_topic.get(topic, ())):
                self._forget(key)


def _given(value: Any) -> Awaitable[Any]:
    given: Deferred[Any] = Deferred()
    given.callback(value)
    return given
