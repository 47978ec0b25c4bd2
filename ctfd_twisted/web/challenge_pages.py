"""The challenges: the list, one of them opened, and answers to it. Works with and without JavaScript.

Who sees what, and what an answer is worth, is decided where the REST API decides it: these pages draw its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from markupsafe import Markup

from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import Forbidden, Invalid, Refused
from ctfd_twisted.http.answers import Answer, RedirectTo
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.errors import error_text
from ctfd_twisted.http.gates import ANYONE, CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.api_answers import ApiAnswers
from ctfd_twisted.web.challenge_view import Opened, opened_challenge
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.requirements import AskedOfAll, read_asked, team_is_complete, user_is_complete
from ctfd_twisted.web.shelves import Cabinet, Tile
from ctfd_twisted.web.texts import lasting

_INCOMPLETE_TEAM: Final = "Please fill in all required team profile fields"
_ALL: Final = "/api/v1/challenges"
_ONE: Final = "/api/v1/challenges/<challenge_id>"
_HILLS: Final = "/api/v1/koth"
_HILL: Final = "/api/v1/koth/<int:challenge_id>"
_LOCKED: Final = "This challenge opens when others are solved."


class Result(msgspec.Struct, frozen=True):
    """What became of an answer, as the player is told; of an unlock only the refusal is told, else the hint opens."""

    status: str
    message: str
    hint: int | None = None


class ChallengePages:
    """``/challenges``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, answers: ApiAnswers) -> None:
        self._db = db
        self._pages = pages
        self._answers = answers
        self._cabinet: Cabinet | None = None
        self._asked: Snapshot[AskedOfAll] = Snapshot(db, db.bus, read_asked, ("accounts", "config"))

    @routes.get("/challenges", ANYONE)
    async def challenges(self, call: Call) -> Answer:
        """The list; with ``open=<id>`` that challenge as well, or alone for a script that puts it into the page."""
        await self._check(call)
        opened, infos = await self._open(call)
        return await self._show(call, opened, infos, None)

    @routes.post("/challenges", ANYONE)
    async def answer(self, call: Call) -> Answer:
        """A flag for the challenge that is open, or with ``target`` the unlocking of one of its hints."""
        await self._check(call)
        if call.player is None:
            raise RedirectTo(call.with_next("/login"))
        result = await self._tell(call)
        opened, infos = await self._open(call)
        return await self._show(call, opened, infos, result)

    async def _check(self, call: Call) -> None:
        """In the contract's order: a complete profile, a team, the time, a verified address, visibility."""
        player, competition = call.player, call.competition
        if player is not None and not player.is_admin:
            asked = await self._asked.get()
            if not asked.users.nothing and not await self._db.read(user_is_complete, asked.users, player.id):
                raise RedirectTo(call.url("/settings"))
            team_id = player.team_id if competition.teams else None
            if team_id and not asked.teams.nothing and not await self._db.read(team_is_complete, asked.teams, team_id):
                raise Forbidden(_INCOMPLETE_TEAM)
        DURING_EVENT(call)
        VERIFIED(call)
        CHALLENGES_VISIBLE(call)
        if player is not None and competition.teams and player.team_id is None:
            raise RedirectTo(call.with_next("/team"))

    async def _tell(self, call: Call) -> Result:
        path = "/api/v1/unlocks" if call.form("target") else "/api/v1/challenges/attempt"
        try:
            data = await self._answers.data(call, "POST", path)
        except (Invalid, Refused) as refused:
            return Result("incorrect", error_text(refused))
        if "status" in data:
            return Result(data["status"], data.get("message", ""))
        return Result("unlocked", "", data["target"])

    async def _open(self, call: Call) -> tuple[Opened | None, list[str]]:
        asked = call.argument("open")
        if not asked:
            return None, []
        shown = await self._answers.data(call, "GET", _ONE, challenge_id=asked)
        if shown["type"] == "hidden":
            return None, [_LOCKED]
        solvers, standings = None, ()
        if "koth" in shown:
            standings = (await self._answers.data(call, "GET", _HILL, challenge_id=shown["id"]))["standings"]
        elif call.sees_scores and call.sees_accounts:
            solvers = await self._answers.data(call, "GET", f"{_ONE}/solves", challenge_id=asked)
        known = [tile.id for tile in await self._tiles(call)]
        return opened_challenge(shown, call.competition, known=known, solvers=solvers, standings=tuple(standings)), []

    async def _show(self, call: Call, opened: Opened | None, infos: list[str], result: Result | None) -> Answer:
        context: dict[str, Any] = {
            "opened": opened,
            "result": result if result is not None and result.message else None,
            "unlocked": None if result is None else result.hint,
            "now": int(call.now.timestamp()),
        }
        if opened is not None and call.request.getHeader(b"hx-request"):
            return self._pages.fragment(call, "parts/challenge.html", **context)
        tiles = await self._tiles(call)
        # Most competitions have no hill, and then nobody has to be asked who holds them.
        hills = await self._answers.data(call, "GET", _HILLS) if any(tile.hill for tile in tiles) else ()
        shelves = self._shelved(call).shelves(tiles, {hill["challenge_id"]: hill for hill in hills})
        competition, infos = call.competition, [*_notices(call), *infos]
        ends_at = competition.end if competition.end and not competition.ended(call.now) else None
        left = lasting(ends_at - context["now"]) if ends_at else ""
        context |= {"infos": infos, "ends_at": ends_at, "left": left}
        if opened is None:
            return self._pages.around(call, "challenges.html", (*infos, ends_at, left), shelves, **context)
        middle = Markup(shelves.body.decode())  # noqa: S704 - drawn by templates
        return self._pages.render(call, "challenges.html", middle=middle, **context)

    async def _tiles(self, call: Call) -> list[Tile]:
        return self._shelved(call).tiles(await self._answers.body(call, "GET", _ALL))

    def _shelved(self, call: Call) -> Cabinet:
        if self._cabinet is None:
            draw = self._pages.macro
            self._cabinet = Cabinet(draw("parts/tile.html", "tile"), draw("parts/shelf.html", "begin"), call.front.url)
        return self._cabinet


def view_renderer(pages: Pages) -> Callable[[Call, Mapping[str, Any]], str]:
    """What draws the ``view`` of the REST API's detail: the opened challenge; without a nonce, so it may be kept."""

    def render(call: Call, shown: Mapping[str, Any]) -> str:
        opened = opened_challenge(shown, call.competition)
        now = int(call.now.timestamp())
        return pages.part(call, "parts/challenge.html", opened=opened, result=None, unlocked=None, now=now)

    return render


def _notices(call: Call) -> list[str]:
    competition, notices = call.competition, []
    if call.is_admin and competition.challenge_visibility == "admins":
        notices.append("Challenge Visibility is set to Admins Only")
    if not competition.started(call.now):
        notices.append(f"{competition.name} has not started yet: only administrators see the challenges.")
    if competition.paused:
        notices.append(f"{competition.name} is paused")
    if competition.ended(call.now):
        notices.append(f"{competition.name} has ended")
    return notices
