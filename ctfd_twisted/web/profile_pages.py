"""The pages of one user and one team, others' and one's own."""

from __future__ import annotations

from markupsafe import Markup

from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, AUTHED, SCORES_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring.live_board import BoardKeeper
from ctfd_twisted.scoring.rules import ordinal
from ctfd_twisted.web.init_script import in_script
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.profile_reads import Looker, Profile, read_team_profile, read_user_profile


class ProfilePages:
    """``/users/<id>``, ``/teams/<id>``, and ``/user``, ``/profile`` and ``/team`` for oneself."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, board: BoardKeeper) -> None:
        self._db = db
        self._pages = pages
        self._board = board

    @routes.get("/users/<int:user_id>", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def user(self, call: Call, user_id: int) -> Answer:
        """One user as the public knows them."""
        looker = Looker(call.player, call.now, call.sees_scores)
        return await self._show(call, await self._db.read(read_user_profile, call.competition, user_id, looker))

    @routes.get("/teams/<int:team_id>", TEAMS_MODE, ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def team(self, call: Call, team_id: int) -> Answer:
        """One team as the public knows it."""
        looker = Looker(call.player, call.now, call.sees_scores)
        return await self._show(call, await self._db.read(read_team_profile, call.competition, team_id, looker))

    @routes.get("/user", AUTHED)
    async def own_user(self, call: Call) -> Answer:
        """Oneself, with what came after a freeze."""
        user_id = call.require_player().id
        looker = Looker(call.player, call.now, call.sees_scores, own=True)
        return await self._show(call, await self._db.read(read_user_profile, call.competition, user_id, looker))

    @routes.get("/profile", AUTHED)
    async def profile(self, call: Call) -> Answer:
        """Another address of the same."""
        return await self.own_user(call)

    @routes.get("/team", TEAMS_MODE, AUTHED)
    async def own_team(self, call: Call) -> Answer:
        """One's own team with its captain's tools, or how to get into one."""
        player = call.require_player()
        if player.team_id is None:
            return self._pages.render(call, "team_enroll.html")
        looker = Looker(player, call.now, call.sees_scores, own=True)
        found = await self._db.read(read_team_profile, call.competition, player.team_id, looker)
        return await self._show(call, found, own_team=True)

    async def _show(self, call: Call, profile: Profile, *, own_team: bool = False) -> Answer:
        places = (await self._board.get()).places
        rank = places.get(profile.account_id) if profile.account_id is not None and call.sees_scores else None
        about = {
            "type": "team" if profile.is_team else "user",
            "id": profile.id,
            "name": profile.name,
            "account_id": profile.account_id,
        }
        return self._pages.render(
            call,
            "profile.html",
            account=profile,
            place=None if rank is None else ordinal(rank),
            account_global=Markup(in_script(about)),  # noqa: S704 - encoded for a script
            own_team=own_team,
            is_captain=own_team and call.player is not None and call.player.id == profile.captain_id,
        )
