"""The parts of the stream of events, put together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.live.api import EventsApi
from ctfd_twisted.live.door import Doorkeeper
from ctfd_twisted.live.feed import Feed
from ctfd_twisted.live.happenings import Notices, SolvesSource
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.states import BoardSource, HillsSource
from ctfd_twisted.scoring.live_board import BoardKeeper


class Live(NamedTuple):
    """The two services, and the route."""

    hub: Hub
    feed: Feed
    api: EventsApi


def make_live(
    clock: IReactorTime,
    db: Database,
    board: BoardKeeper,
    doorkeeper: Doorkeeper,
    competition: Callable[[], Awaitable[Competition]],
    now: Callable[[], datetime],
    *,
    enabled: bool,
) -> Live:
    """The stream of events; *enabled* says whether the deployment has it."""
    # In the order of the channels in views.py.
    sources = (Notices(db), SolvesSource(db, now), HillsSource(db, now), BoardSource(board, competition, now))
    hub = Hub(clock, sources)
    feed = Feed(clock, db, hub, sources, doorkeeper, competition, now)
    return Live(hub, feed, EventsApi(hub, feed, enabled=enabled))
