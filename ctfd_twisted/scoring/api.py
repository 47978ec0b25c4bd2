"""``/api/v1/scoreboard`` and ``/api/v1/awards``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import missing
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, shared_answer
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.scoring import awards_store
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.ctftime_api import CtftimeApi
from ctfd_twisted.scoring.lines import LineShown
from ctfd_twisted.scoring.scoreboard import (
    MOST,
    Top,
    TopAccount,
    last_release,
    read_releases,
    top_answer,
)
from ctfd_twisted.scoring.statistics_api import StatisticsApi
from ctfd_twisted.scoring.submissions_api import SubmissionsApi
from ctfd_twisted.scoring.tops import Tops

_NOBODY = Answer(top_answer(()))


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
        self._tops = Tops(db)
        self._releases = Snapshot(db, db.bus, read_releases, ("challenges",))

    @routes.get("/api/v1/scoreboard", ACCOUNTS_VISIBLE, SCORES_VISIBLE, data=list[LineShown], also=(SAME,))
    def show_board(self, call: Call) -> Any:
        """Everybody, first place first."""
        board = self._board.ready()
        return self._board_later(call) if board is None else shared_answer(call, self._board.press, board.answer)

    async def _board_later(self, call: Call) -> Answer:
        board = await self._board.get()
        return shared_answer(call, self._board.press, board.answer)

    @routes.get(
        "/api/v1/scoreboard/top/<int:count>",
        ACCOUNTS_VISIBLE,
        SCORES_VISIBLE,
        query=TopQuery,
        data=dict[str, TopAccount],
        also=(SAME,),
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
        count = min(max(count, 1), MOST)
        board, releases = self._board.ready(), self._releases.ready()
        if board is not None and releases is not None:
            first = self._tops.ready(Top(board, bracket_id, call.url(""), last_release(releases, call.now)), count)
            if first is not None:
                return shared_answer(call, self._tops.press, first)
        return self._top_later(call, bracket_id, count)

    async def _top_later(self, call: Call, bracket_id: int | None, count: int) -> Answer:
        released = last_release(await self._releases.get(), call.now)
        wanted = Top(await self._board.get(), bracket_id, call.url(""), released)
        return shared_answer(call, self._tops.press, await self._tops.get(wanted, count))


class AwardsApi:
    """Awards, for administrators."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get("/api/v1/awards", ADMIN, query=awards_store.AwardFilter, data=list[awards_store.AwardShown])
    async def list_awards(self, call: Call) -> Answer:
        """All awards, or those that the query describes."""
        return ok(await self._db.read(awards_store.list_awards, call.query(awards_store.AwardFilter)))

    @routes.post(
        "/api/v1/awards",
        ADMIN,
        body=awards_store.AwardFields,
        data=awards_store.AwardShown,
        also=(missing("No such account."),),
    )
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
