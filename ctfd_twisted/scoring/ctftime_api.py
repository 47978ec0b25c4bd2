"""``/api/v1/ctftime``: the board for CTFtime, which asks every minute."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.http.answers import JSON, Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.ctftime import CtftimeFeed, Prepared, read_feed
from ctfd_twisted.scoring.news import BOARD_TOPICS

_FEED = Described(200, JSON, CtftimeFeed, "The whole board, without an envelope.")


class CtftimeApi:
    """The feed, made after the last commit that moved it; the same for everybody who sees as much of the challenges."""

    routes = Routes()

    def __init__(self, db: Database, now: Callable[[], datetime]) -> None:
        def kept(*, unsolved: bool) -> Snapshot[Prepared]:
            def build(conn: Connection) -> Prepared:
                return read_feed(conn, now(), unsolved=unsolved)

            return Snapshot(db, db.bus, build, BOARD_TOPICS, until=lambda feed: feed.until)

        self._solved, self._all = kept(unsolved=False), kept(unsolved=True)

    @routes.get("/api/v1/ctftime", ACCOUNTS_VISIBLE, SCORES_VISIBLE, also=(_FEED,))
    def feed(self, call: Call) -> Any:
        """The board in the format of CTFtime's scoreboard feed.

        Tasks that nobody has solved are named only to those who may see the list of challenges now.
        """
        feed = self._all if _sees_tasks(call) else self._solved
        prepared = feed.ready(call.now)
        return _later(feed.get(call.now)) if prepared is None else Answer(prepared.body)


def _sees_tasks(call: Call) -> bool:
    competition, now = call.competition, call.now
    if not competition.sees_challenges(logged_in=call.player is not None, is_admin=call.is_admin):
        return False
    return competition.running(now) or (competition.ended(now) and competition.view_after)


async def _later(prepared: Awaitable[Prepared]) -> Answer:
    return Answer((await prepared).body)
