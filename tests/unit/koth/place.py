"""A place where hills are polled, in memory and over a Clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select, update
from twisted.internet.task import Clock

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.office import Office
from ctfd_twisted.koth.poller import HillPoller
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_user
from ctfd_twisted.testing.fake_agent import FakeAgent, FakeAgents
from ctfd_twisted.testing.hills import a_hill

START = datetime(2026, 3, 14, 12, tzinfo=UTC)


class Node:
    """One polling node."""

    def __init__(self, place: Place, name: str) -> None:
        # Each node has its own client, but they share the agents.
        self.office = Office(place.clock, place.db, HillClient(place.clock, place.reach), holder=name)
        self.poller = HillPoller(self.office)

    def start(self) -> Node:
        self.poller.startService()
        return self

    def stop(self) -> None:
        result_of(self.poller.stopService())

    def die(self) -> None:
        """Do nothing any more, as after kill -9: no stop, no release."""
        self.poller._unsubscribe()
        self.poller._loop.stop()
        self.poller._step_down()


class Place:
    """A database in memory, a clock, the agent ``hill``, and nodes that poll."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(START.timestamp())
        self.db = Database(open_engines("sqlite://"), Bus(), write=start_inline, read=start_inline)
        metadata.create_all(self.db.engines.write_engine)
        self.agent = FakeAgent("ada")
        self.reach = FakeAgents(hill=self.agent)
        self.run(write_config, {"setup": True})
        self.ada = self.run(a_user, name="ada")

    def run(self, fn: Any, *args: Any, **facts: Any) -> Any:
        return result_of(self.db.run(fn, *args, **facts))

    def hill(self, **changes: Any) -> int:
        def make(conn: Connection) -> int:
            touch(conn, "challenges")
            return a_hill(conn, **{"url": "http://hill/status", **changes})

        return int(self.run(make))

    def change(self, hill: int, **columns: Any) -> None:
        def make(conn: Connection) -> None:
            conn.execute(update(challenges).where(challenges.c.id == hill).values(**columns))
            touch(conn, "challenges")

        self.run(make)

    def node(self, name: str = "one") -> Node:
        return Node(self, name)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    def advance(self, seconds: float, step: float = 0.5) -> None:
        for _ in range(round(seconds / step)):
            self.clock.advance(step)

    def outcomes(self, hill: int) -> list[tuple[int, str]]:
        def read(conn: Connection) -> list[tuple[int, str]]:
            found = conn.execute(select(ticks).where(ticks.c.challenge_id == hill).order_by(ticks.c.tick))
            return [(row.tick, row.outcome) for row in found]

        return list(result_of(self.db.read(read)))

    def numbers(self, hill: int) -> list[int]:
        return [number for number, _ in self.outcomes(hill)]

    def row(self, hill: int) -> Any:
        return result_of(
            self.db.read(lambda conn: conn.execute(select(hills).where(hills.c.challenge_id == hill)).one())
        )

    def awards(self) -> list[datetime]:
        return list(result_of(self.db.read(lambda conn: conn.execute(select(awards.c.date)).scalars().all())))
