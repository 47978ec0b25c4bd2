"""``/api/v1/ctftime``: the board for CTFtime, which asks every minute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.http.answers import JSON, Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.shared import Press, Shared
from ctfd_twisted.http.sharing import SAME, shared_answer
from ctfd_twisted.scoring.ctftime import CtftimeFeed, read_feed
from ctfd_twisted.scoring.news import BOARD_TOPICS

_FEED = Described(200, JSON, CtftimeFeed, "The whole board, without an envelope.")


class _Fed(msgspec.Struct, frozen=True):
    """One version of the feed, and the instant from which it is stale without any commit."""

    version: Shared
    until: datetime | None


class CtftimeApi:
    """The feed, made after the last commit that moved it; the same for everybody who sees as much of the challenges."""

    routes = Routes()

    def __init__(self, db: Database, now: Callable[[], datetime]) -> None:
        self._press = Press()

        def kept(*, unsolved: bool) -> Snapshot[_Fed]:
            def build(conn: Connection) -> _Fed:
                prepared = read_feed(conn, now(), unsolved=unsolved)
                return _Fed(self._press.make(prepared.body), prepared.until)

            return Snapshot(db, db.bus, build, BOARD_TOPICS, until=lambda fed: fed.until)

        self._solved, self._all = kept(unsolved=False), kept(unsolved=True)

    @routes.get("/api/v1/ctftime", ACCOUNTS_VISIBLE, SCORES_VISIBLE, also=(_FEED, SAME))
    def feed(self, call: Call) -> Any:
        """The board in the format of CTFtime's scoreboard feed.

        Tasks that nobody has solved are named only to those who may see the list of challenges now.
        """
        feed = self._all if _sees_tasks(call) else self._solved
        fed = feed.ready(call.now)
        return self._later(call, feed) if fed is None else shared_answer(call, self._press, fed.version)

    async def _later(self, call: Call, feed: Snapshot[_Fed]) -> Answer:
        fed = await feed.get(call.now)
        return shared_answer(call, self._press, fed.version)


def _sees_tasks(call: Call) -> bool:
    competition, now = call.competition, call.now
    if not competition.sees_challenges(logged_in=call.player is not None, is_admin=call.is_admin):
        return False
    return competition.running(now) or (competition.ended(now) and competition.view_after)
