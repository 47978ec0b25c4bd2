"""The public scoreboard."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import Bracket, BracketFilter, list_brackets
from ctfd_twisted.accounts.newcomers import JOINED
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, SCORES_VISIBLE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.live_board import Board, BoardKeeper
from ctfd_twisted.scoring.news import BOARD_TOPICS
from ctfd_twisted.scoring.scoreboard import Top, read_top, top_answer
from ctfd_twisted.web.drawn_board import DrawnBoard
from ctfd_twisted.web.graph import Graph, score_graph
from ctfd_twisted.web.kept import Kept
from ctfd_twisted.web.pages import Pages

#: Accounts that the graph draws.
_LINES: Final = 10
_FROZEN: Final = "Scoreboard has been frozen"


class Drawn(msgspec.Struct, frozen=True):
    """A graph, or that there is nothing to draw."""

    value: Graph | None


class _Kept(NamedTuple):
    """Graph and table of a bracket, how many rows they have, and what they were drawn of."""

    basis: tuple[object, ...]
    length: int
    board: DrawnBoard


class ScoreboardPages:
    """``/scoreboard``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, board: BoardKeeper) -> None:
        self._pages = pages
        self._board = board
        self._brackets = Snapshot(db, db.bus, read_brackets, ("accounts", "config"))
        # Each is kept under its board, so what makes another board lets go of it.
        self._graphs = KeyedSnapshots(db, db.bus, read_graph, (*BOARD_TOPICS, JOINED), limit=100)
        self._rows = Kept()
        # Graph and table by bracket, with what they were drawn of: hundreds of rows are drawn once a change, not once
        # a reader.
        self._drawn: dict[int | None, _Kept] = {}

    @routes.get("/scoreboard", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def scoreboard(self, call: Call) -> Answer:
        """The board, or with ``bracket_id`` that of one bracket, whose places are counted anew."""
        competition = call.competition
        board = self._board.ready() or await self._board.get()
        known = self._brackets.ready()
        known = await self._brackets.get() if known is None else known
        brackets = tuple(bracket for bracket in known if bracket.type == competition.mode)
        chosen = next((bracket for bracket in brackets if str(bracket.id) == call.argument("bracket_id")), None)
        top = Top(board, None if chosen is None else chosen.id, "")
        graph = self._graphs.ready(top) or await self._graphs.get(top)
        drawn = self._draw(call, (board, known, graph, competition.mode), brackets, chosen)
        infos = [_FROZEN] if competition.frozen(call.now) else []
        if call.is_admin and not competition.sees_scores(logged_in=True, is_admin=False):
            infos.append("Scores are hidden from players: only administrators see this page.")
        own_id = None if call.player is None else call.player.account_id(competition)
        return self._pages.around(
            call,
            "scoreboard.html",
            (brackets, chosen, drawn.length, *infos),
            drawn.board.seen_by(own_id, "your team" if competition.teams else "you"),
            infos=infos,
            brackets=brackets,
            bracket=chosen,
            bracket_names={bracket.id: bracket.name for bracket in brackets},
            count=drawn.length,
        )

    def _draw(
        self, call: Call, basis: tuple[Board, object, Drawn, str], brackets: tuple[Bracket, ...], chosen: Bracket | None
    ) -> _Kept:
        key = None if chosen is None else chosen.id
        kept = self._drawn.get(key)
        if kept is not None and all(now is then for now, then in zip(basis, kept.basis, strict=True)):
            return kept
        rows = [row for row in basis[0].standings if chosen is None or row.bracket_id == chosen.id]
        context: dict[str, Any] = {"rows": rows, "brackets": brackets, "bracket": chosen, "graph": basis[2].value}
        html = self._pages.part(call, "parts/board.html", kept=self._rows, **context)
        kept = self._drawn[key] = _Kept(basis, len(rows), DrawnBoard(html))
        return kept


def read_brackets(conn: Connection) -> tuple[Bracket, ...]:
    """Every bracket."""
    return list_brackets(conn, BracketFilter())


def read_graph(conn: Connection, wanted: Top) -> Drawn:
    """The graph of the first ten, of one bracket if there is one."""
    answer: dict[str, Any] = msgspec.json.decode(top_answer(read_top(conn, wanted), _LINES))

    def scored(account: dict[str, Any]) -> list[tuple[float, int]]:
        return [(datetime.fromisoformat(one["date"]).timestamp(), one["value"] or 0) for one in account["solves"]]

    return Drawn(score_graph([(account["name"], scored(account)) for account in answer["data"].values()]))
