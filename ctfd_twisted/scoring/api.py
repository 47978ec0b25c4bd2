"""``/api/v1/scoreboard`` and ``/api/v1/awards``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.scoring import awards_store
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.ctftime_api import CtftimeApi
from ctfd_twisted.scoring.lines import LineShown
from ctfd_twisted.scoring.live_board import Board
from ctfd_twisted.scoring.news import BOARD_TOPICS
from ctfd_twisted.scoring.scoreboard import (
    Top,
    TopAccount,
    last_release,
    read_releases,
    read_top,
    top_answer,
)
from ctfd_twisted.scoring.statistics_api import StatisticsApi
from ctfd_twisted.scoring.submissions_api import SubmissionsApi

_NOBODY = Answer(top_answer((), 1))


def scoring_handlers(db: Database, now: Callable[[], datetime], board: PublicBoard) -> list[HasRoutes]:
    """Every class of routes about the board, awards, submissions and statistics."""
    return [ScoreboardApi(db, board), CtftimeApi(db, now), AwardsApi(db), SubmissionsApi(db), StatisticsApi(db)]


class TopQuery(msgspec.Struct, frozen=True):
    """Of which bracket the first are asked for."""

    bracket_id: str | None = None


class ScoreboardApi:
    """The public board; what it answers was made after the last commit that moved it, and is the same for everybody."""

    routes = Routes()

    def __init__(self, db: Database, board: PublicBoard) -> None:
        self._board = board
        self._tops = KeyedSnapshots(db, db.bus, read_top, BOARD_TOPICS, limit=100)
        self._releases = Snapshot(db, db.bus, read_releases, ("challenges",))

    @routes.get("/api/v1/scoreboard", ACCOUNTS_VISIBLE, SCORES_VISIBLE, data=list[LineShown])
    def show_board(self, call: Call) -> Any:
        """Everybody, first place first."""
        del call
        board = self._board.ready()
        return _later(self._board.get()) if board is None else Answer(board.answer)

    @routes.get(
        "/api/v1/scoreboard/top/<int:count>",
        ACCOUNTS_VISIBLE,
        SCORES_VISIBLE,
        query=TopQuery,
        data=dict[str, TopAccount],
    )
    def show_top(self, call: Call, count: int) -> Any:
        """The first ``count``, from 1 to 50, with what they scored and when; the keys are the places.

        With ``bracket_id`` the accounts of that bracket alone, whose places are counted anew; what no bracket has for
        an id answers an empty object.
        """
        bracket_id = None
        bracket = call.query(TopQuery).bracket_id
        if bracket is not None:
            try:
                bracket_id = row_id(bracket)
            except NotFound:
                return _NOBODY
        board, releases = self._board.ready(), self._releases.ready()
        if board is not None and releases is not None:
            members = self._tops.ready(Top(board, bracket_id, call.url(""), last_release(releases, call.now)))
            if members is not None:
                return Answer(top_answer(members, count))
        return self._top_later(call, bracket_id, count)

    async def _top_later(self, call: Call, bracket_id: int | None, count: int) -> Answer:
        released = last_release(await self._releases.get(), call.now)
        wanted = Top(await self._board.get(), bracket_id, call.url(""), released)
        return Answer(top_answer(await self._tops.get(wanted), count))


async def _later(board: Awaitable[Board]) -> Answer:
    return Answer((await board).answer)


class AwardsApi:
    """Awards, for administrators."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/awards", ADMIN, query=awards_store.AwardFilter, data=list[awards_store.AwardShown])
    async def list_awards(self, call: Call) -> Answer:
        """All awards, or those that the query describes."""
        return ok(await self._db.read(awards_store.list_awards, call.query(awards_store.AwardFilter)))

    @routes.post("/api/v1/awards", ADMIN, body=awards_store.AwardFields, data=awards_store.AwardShown)
    async def create(self, call: Call) -> Answer:
        """Give an award."""
        return ok(await self._db.run(awards_store.create_award, call.now, call.body(awards_store.AwardFields)))

    @routes.get("/api/v1/awards/<award_id>", ADMIN, data=awards_store.AwardShown)
    async def show(self, call: Call, award_id: str) -> Answer:
        """One award."""
        del call
        return ok(await self._db.read(awards_store.read_award, row_id(award_id)))

    @routes.delete("/api/v1/awards/<award_id>", ADMIN, data=None)
    async def delete(self, call: Call, award_id: str) -> Answer:
        """Take an award back."""
        del call
        await self._db.run(awards_store.delete_award, row_id(award_id))
        return done()
