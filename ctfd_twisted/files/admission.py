"""Who may download a file (contract: security, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import datetime
from typing import Any, Final

from itsdangerous import BadData

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.challenges.rules import Reach
from ctfd_twisted.challenges.view import Views
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.files.store import Found
from ctfd_twisted.http.call import Call

#: Seconds for which a link with a token is good.
TOKEN_SECONDS: Final = 3600
#: Kinds of files that everybody may have: logos and pictures, and what pages show.
PUBLIC: Final = frozenset({"standard", "page"})

#: ``Keys.read_signed``: the payload of a token that is at most so many seconds old at an instant.
ReadSigned = Callable[[datetime, str, int], Any]


class Doorkeeper:
    """Lets through who may have a file."""

    def __init__(self, db: Database, views: Views, read_signed: ReadSigned) -> None:
        self._db = db
        self._views = views
        self._read_signed = read_signed

    async def admit(self, call: Call, file: Found) -> None:
        """Return if the caller may have *file*; raises ``Forbidden`` or ``NotFound``.

        A kind that nobody has defined is for administrators: the default is no.
        """
        if file.type in PUBLIC or call.is_admin:
            return
        if file.type == "challenge":
            await self._admit_to_challenge(await self._asking(call, file), file)
        elif file.type == "solution":
            await self._admit_to_solution(call, file)
        else:
            raise NotFound

    async def _admit_to_challenge(self, call: Call, file: Found) -> None:
        competition = call.competition
        if not _sees_challenges(call):
            raise Forbidden
        if call.is_admin:
            return
        if not _is_open(competition, call.now):
            has = "ended" if competition.ended(call.now) else "not started yet"
            raise Forbidden(f"{competition.name} has {has}")
        view = self._views.ready(call) or await self._views.get(call)
        if view.reach(view.find(file.challenge_id or 0)) is not Reach.OPEN:
            raise NotFound

    async def _admit_to_solution(self, call: Call, file: Found) -> None:
        if not (_sees_challenges(call) and _is_open(call.competition, call.now)):
            raise NotFound
        view = self._views.ready(call) or await self._views.get(call)
        entry = view.find(file.challenge_id or 0)
        if entry.solution is None or entry.solution.state != "visible" or view.reach(entry) is not Reach.OPEN:
            raise NotFound

    async def _asking(self, call: Call, file: Found) -> Call:
        """The call as its token's owner would make it, where somebody who may not see challenges shows a token.

        So does a visitor who may: what the owner has solved may open the challenge to them.
        """
        token = call.argument("token")
        if token is None or (call.player is not None and _sees_challenges(call)):
            return call
        owner = await self._owner(call.now, token, file.id)
        if owner is None:
            return call
        asking = copy(call)
        asking.player = owner
        return asking

    async def _owner(self, now: datetime, token: str, file_id: int) -> Player | None:
        try:
            payload = self._read_signed(now, token, TOKEN_SECONDS)
        except BadData:
            return None
        # The same key signs other things.
        if not isinstance(payload, dict) or payload.get("file_id") != file_id:
            return None
        user_id = payload.get("user_id")
        owner = await self._db.read(load_player, user_id) if isinstance(user_id, int) else None
        return None if owner is None or owner.banned or owner.team_banned else owner


def _sees_challenges(call: Call) -> bool:
    visibility = call.competition.challenge_visibility
    return call.is_admin or visibility == "public" or (visibility == "private" and call.player is not None)


def _is_open(competition: Competition, now: datetime) -> bool:
    return competition.running(now) or bool(competition.ended(now) and competition.view_after)
