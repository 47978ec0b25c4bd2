"""What everybody may ask about hills: who holds them, since when, and how ticks went."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypedDict

from sqlalchemy import Connection

from ctfd_twisted.challenges.rules import Reach
from ctfd_twisted.challenges.view import Views, require_account
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import (
    ACCOUNTS_VISIBLE,
    ANYONE,
    CHALLENGES_VISIBLE,
    DURING_EVENT,
    SCORES_VISIBLE,
    VERIFIED,
)
from ctfd_twisted.http.pagination import AskedPages, Page, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.koth.boards import Hill, Sight, read_hills, read_ticks
from ctfd_twisted.koth.keys import Commitment, publish_moments, read_commitments
from ctfd_twisted.koth.reigns import Standing, read_reigns, read_standings
from ctfd_twisted.koth.views import (
    HillShown,
    HillStanding,
    HillWithStandings,
    ReignShown,
    TickShown,
    onlooker,
    shown_hill,
    shown_reign,
    shown_standing,
    shown_tick,
)

_OPEN: Final = (CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED)
_SIZE: Final = 50
_MOST: Final = 100
#: So many hills' standings are kept, as the public and as administrators see them.
_KEPT: Final = 2_000
#: A tick changes the list; what else is in it (names, kings' flags, standings) is told by the others.
_TOPICS: Final = ("ticks", "hills", "standings", "challenges", "accounts", "newcomers", "config")


class _Board(NamedTuple):
    """Whose standings: those that the public sees, or all."""

    challenge_id: int
    public: bool


class Commitments(TypedDict):
    """What binds the organisers to the moments of ticks; ``secret`` is null until the competition has ended.

    ``earlier`` are those of competitions that went on after their end, the newest first.
    """

    algorithm: Literal["SHA-256"]
    commitment: str
    secret: str | None
    earlier: list[Commitment]


class HillsApi:
    """The players' side of ``/api/v1/koth``."""

    routes = Routes()

    def __init__(self, db: Database, reader: Views) -> None:
        self._db = db
        self._reader = reader
        self._hills = Snapshot(db, db.bus, _read_hills, _TOPICS)
        self._standings = KeyedSnapshots(db, db.bus, _read_standings, _TOPICS, limit=_KEPT)

    @routes.get("/api/v1/koth", *_OPEN, data=list[HillShown])
    async def list_hills(self, call: Call) -> Answer:
        """Every hill that the caller may see, with its king."""
        require_account(call.player, call.competition)
        view = self._reader.ready(call) or await self._reader.get(call)
        hills = self._hills.ready() or await self._hills.get()
        sees = onlooker(call.competition, call.now, call.player)
        entries = view.catalogue.entries
        seen = (
            hill
            for challenge_id, hill in hills.items()
            if (entry := entries.get(challenge_id)) is not None and view.reach(entry) is Reach.OPEN
        )
        return ok([shown_hill(hill, call.competition, call.now, sees) for hill in seen])

    @routes.get("/api/v1/koth/<int:challenge_id>", *_OPEN, data=HillWithStandings)
    async def show_hill(self, call: Call, challenge_id: int) -> Answer:
        """One hill, and the standings on it."""
        hill = await self._hill(call, challenge_id)
        sees = onlooker(call.competition, call.now, call.player)
        standings: list[HillStanding] = []
        if sees.is_admin or (sees.scores and sees.accounts):
            board = _Board(challenge_id, not sees.is_admin)
            found = self._standings.ready(board) or await self._standings.get(board)
            standings = [shown_standing(standing, sees) for standing in found]
        shown: HillWithStandings = {**shown_hill(hill, call.competition, call.now, sees), "standings": standings}
        return ok(shown)

    @routes.get(
        "/api/v1/koth/<int:challenge_id>/reigns",
        CHALLENGES_VISIBLE,
        ACCOUNTS_VISIBLE,
        SCORES_VISIBLE,
        DURING_EVENT,
        VERIFIED,
        query=AskedPages,
        data=list[ReignShown],
        meta=Paged,
    )
    async def list_reigns(self, call: Call, challenge_id: int) -> Answer:
        """The reigns of a hill, newest first; while scores are frozen those of before."""
        await self._hill(call, challenge_id)
        sees = onlooker(call.competition, call.now, call.player)
        page = _page(call)
        reigns, total = await self._db.read(
            read_reigns,
            challenge_id,
            teams_mode=call.competition.teams,
            public=not sees.is_admin,
            until=sees.until,
            limit=page.size,
            offset=page.offset,
        )
        return ok([shown_reign(reign, sees) for reign in reigns], meta=page.meta(total))

    @routes.get("/api/v1/koth/<int:challenge_id>/ticks", *_OPEN, query=AskedPages, data=list[TickShown], meta=Paged)
    async def list_ticks(self, call: Call, challenge_id: int) -> Answer:
        """The ticks that found the caller's own account, newest first; after the end all of them."""
        await self._hill(call, challenge_id)
        sees = onlooker(call.competition, call.now, call.player)
        own = None if call.player is None else call.player.account_id(call.competition)
        sight = Sight(sees.is_admin, own, call.competition.ended(call.now), sees.until)
        page = _page(call)
        ticks, total = await self._db.read(
            read_ticks,
            challenge_id,
            teams_mode=call.competition.teams,
            sight=sight,
            limit=page.size,
            offset=page.offset,
        )
        mine = (sees.is_admin or (tick.account is not None and tick.account.id == own) for tick in ticks)
        shown = [shown_tick(tick, sees, own=is_own) for tick, is_own in zip(ticks, mine, strict=True)]
        return ok(shown, meta=page.meta(total))

    @routes.get("/api/v1/koth/commitment", ANYONE, data=Commitments)
    async def show_commitment(self, call: Call) -> Answer:
        """The hash of the secret that moves ticks, and after the end the secret itself."""
        commitments = await self._db.read(read_commitments)
        ended = call.competition.ended(call.now)
        if not commitments or (ended and commitments[0].secret is None):
            commitments = await self._db.run(publish_moments, publish=ended)
        present, *earlier = commitments
        shown: Commitments = {
            "algorithm": "SHA-256",
            "commitment": present.commitment,
            "secret": present.secret,
            "earlier": earlier,
        }
        return ok(shown)

    async def _hill(self, call: Call, challenge_id: int) -> Hill:
        """The hill, if the caller may see it; raises ``NotFound`` where not."""
        require_account(call.player, call.competition)
        view = self._reader.ready(call) or await self._reader.get(call)
        hills = self._hills.ready() or await self._hills.get()
        hill = hills.get(challenge_id)
        if hill is None or view.reach(view.find(challenge_id)) is not Reach.OPEN:
            raise NotFound
        return hill


def _page(call: Call) -> Page:
    asked = call.query(AskedPages)
    return asked_page(asked.page, asked.per_page, size=_SIZE, most=_MOST)


def _read_hills(conn: Connection) -> dict[int, Hill]:
    return {hill.challenge_id: hill for hill in read_hills(conn, teams_mode=read_competition(conn).teams)}


def _read_standings(conn: Connection, board: _Board) -> tuple[Standing, ...]:
    competition = read_competition(conn)
    # Before the freeze has come nothing is due after it, so that its moment alone says what the public sees.
    until = competition.frozen_at if board.public else None
    return read_standings(conn, board.challenge_id, teams_mode=competition.teams, public=board.public, until=until)
