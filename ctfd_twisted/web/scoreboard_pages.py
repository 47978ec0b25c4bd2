"""The public scoreboard."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import Bracket, BracketFilter, list_brackets
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.scoreboard import TOPICS, Top, read_top
from ctfd_twisted.scoring.store import Standing
from ctfd_twisted.web.graph import Graph, score_graph
from ctfd_twisted.web.pages import Pages

#: Accounts that the graph draws.
_LINES: Final = 10
_FROZEN: Final = "Scoreboard has been frozen"


class ScoreboardPages:
    """``/scoreboard``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, board: Snapshot[tuple[Standing, ...]]) -> None:
        self._pages = pages
        self._board = board
        self._brackets = Snapshot(db, db.bus, read_brackets, ("accounts", "config"))
        self._graphs = KeyedSnapshots(db, db.bus, read_graph, TOPICS, limit=100)

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
        graph = await self._graphs.get(None if chosen is None else chosen.id)
        context: dict[str, Any] = {"rows": rows, "brackets": brackets, "bracket": chosen, "graph": graph.value}
        own_id = None if call.player is None else call.player.account_id(competition)
        return self._pages.render(call, "scoreboard.html", own_id=own_id, infos=infos, **context)


def read_brackets(conn: Connection) -> tuple[Bracket, ...]:
    """Every bracket."""
    return list_brackets(conn, BracketFilter())


class Drawn(msgspec.Struct, frozen=True):
    """A graph, or that there is nothing to draw."""

    value: Graph | None


def read_graph(conn: Connection, bracket_id: int | None) -> Drawn:
    """The graph of the first ten, of one bracket if there is one."""
    answer: dict[str, Any] = msgspec.json.decode(read_top(conn, Top(_LINES, bracket_id, "")))

    def scored(account: dict[str, Any]) -> list[tuple[float, int]]:
        return [(datetime.fromisoformat(one["date"]).timestamp(), one["value"] or 0) for one in account["solves"]]

    return Drawn(score_graph([(account["name"], scored(account)) for account in answer["data"].values()]))
