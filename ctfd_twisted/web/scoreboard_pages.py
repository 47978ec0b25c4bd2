"""The public scoreboard."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import Bracket, BracketFilter, list_brackets
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.store import Standing
from ctfd_twisted.web.pages import Pages

_FROZEN: Final = "Scoreboard has been frozen"


class ScoreboardPages:
    """``/scoreboard``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, board: Snapshot[tuple[Standing, ...]]) -> None:
        self._pages = pages
        self._board = board
        self._brackets = Snapshot(db, db.bus, read_brackets, ("accounts", "config"))

    @routes.get("/scoreboard", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def scoreboard(self, call: Call) -> Answer:
        """The board, or with ``bracket_id`` that of one bracket, whose places are counted anew."""
        competition = call.competition
        board = await self._board.get(call.now)
        brackets = [bracket for bracket in await self._brackets.get() if bracket.type == competition.mode]
        chosen = next((bracket for bracket in brackets if str(bracket.id) == call.argument("bracket_id")), None)
        rows = [row for row in board if chosen is None or row.bracket_id == chosen.id]
        infos = [_FROZEN] if competition.frozen(call.now) else []
        if call.is_admin and not competition.sees_scores(logged_in=True, is_admin=False):
            infos.append("Scores are hidden from players: only administrators see this page.")
        context: dict[str, Any] = {"rows": rows, "brackets": brackets, "bracket": chosen, "graph": None}
        own_id = None if call.player is None else call.player.account_id(competition)
        return self._pages.render(call, "scoreboard.html", own_id=own_id, infos=infos, **context)


def read_brackets(conn: Connection) -> tuple[Bracket, ...]:
    """Every bracket."""
    return list_brackets(conn, BracketFilter())
