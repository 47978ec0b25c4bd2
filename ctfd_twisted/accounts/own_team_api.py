"""``/api/v1/teams/me``: the team one is in."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.accounts import membership, teams
from ctfd_twisted.accounts.awards import list_team_awards
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import OwnTeamBody
from ctfd_twisted.accounts.history import Asker, DeedType, list_team_deeds
from ctfd_twisted.accounts.history_views import DeedShown, TeamAward, team_awards
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import team_profile
from ctfd_twisted.accounts.team_views import OwnTeam, OwnTeamProfile, own_team
from ctfd_twisted.accounts.teams_api import InviteCode, invite_shown
from ctfd_twisted.accounts.users_api import deeds_answer
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import refused
from ctfd_twisted.http.gates import AUTHED, TEAM_REQUIRED, TEAMS_MODE
from ctfd_twisted.http.pagination import Counted
from ctfd_twisted.http.routes import Routes

_MINE: Final = "/api/v1/teams/me"
_MEMBER: Final = (TEAMS_MODE, AUTHED, TEAM_REQUIRED)
_NO_CAPTAIN: Final = refused("Who asks is not the captain.")


class OwnTeamApi:
    """What members and captains may do with their team."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, keys: Keys) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards
        self._keys = keys

    @routes.get(_MINE, *_MEMBER, data=OwnTeamProfile)
    async def show_my_team(self, call: Call) -> Answer:
        """One's team, with the score as it is now."""
        team, score = await self._db.read(team_profile, call.competition, _team_id(call), everyone=True, frozen=False)
        place = await self._boards.account_place(team.id) if call.sees_scores else None
        shown: OwnTeamProfile = {**own_team(team), "place": place, "score": score}
        return ok(shown)

    @routes.patch(_MINE, *_MEMBER, body=OwnTeamBody, data=OwnTeam, also=(_NO_CAPTAIN,))
    async def edit_my_team(self, call: Call) -> Answer:
        """Change the team that one is captain of."""
        player = call.require_player()
        sent = read_sent(call, OwnTeamBody)
        # Administrators are asked for no confirmation.
        stored = () if player.is_admin else await self._db.read(teams.confirming_passwords, player.id)
        password = await self._passwords.of_own(sent.body, stored)
        team = await self._db.run(teams.edit_own_team, call.competition, player, sent, password)
        return ok(own_team(team))

    @routes.delete(_MINE, *_MEMBER, data=None, also=(refused("The team may not be disbanded, or not by who asks."),))
    async def disband_my_team(self, call: Call) -> Answer:
        """Disband the team that one is captain of, if it never did anything."""
        await self._db.run(membership.disband_own_team, call.competition, call.require_player().id)
        return done()

    @routes.post(f"{_MINE}/members", *_MEMBER, data=InviteCode, also=(_NO_CAPTAIN,))
    async def invite(self, call: Call) -> Answer:
        """An invite into the team that one is captain of."""
        player = call.require_player()
        return ok(invite_shown(await self._db.read(membership.make_own_invite, call.now, self._keys, player.id)))

    @routes.get(f"{_MINE}/solves", *_MEMBER, data=list[DeedShown], meta=Counted)
    async def list_my_solves(self, call: Call) -> Answer:
        """What the members solved, the newest first."""
        return await self._deeds(call, "correct")

    @routes.get(f"{_MINE}/fails", *_MEMBER, data=list[DeedShown], meta=Counted)
    async def list_my_fails(self, call: Call) -> Answer:
        """What the members got wrong, the newest first; others than administrators are told only how often."""
        return await self._deeds(call, "incorrect")

    @routes.get(f"{_MINE}/awards", *_MEMBER, data=list[TeamAward], meta=Counted)
    async def list_my_awards(self, call: Call) -> Answer:
        """What the members were awarded, the newest first."""
        asker = Asker(call.player, call.now, own=True)
        found = await self._db.read(list_team_awards, call.competition, asker, _team_id(call))
        return ok(team_awards(found), meta={"count": len(found)})

    async def _deeds(self, call: Call, type: DeedType) -> Answer:
        asker = Asker(call.player, call.now, own=True)
        found = await self._db.read(list_team_deeds, call.competition, asker, _team_id(call), type)
        return deeds_answer(call, found, type)


def _team_id(call: Call) -> int:
    team_id = call.require_player().team_id
    if team_id is None:
        raise Forbidden  # the gate has let nobody without a team pass
    return team_id
