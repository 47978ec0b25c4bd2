"""``/api/v1/teams/me``: the team one is in."""

from __future__ import annotations

from ctfd_twisted.accounts import membership, teams
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import OwnTeamBody
from ctfd_twisted.accounts.history import Asker, list_team_awards, list_team_deeds
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import team_profile
from ctfd_twisted.accounts.users_api import deeds_answer
from ctfd_twisted.accounts.views import award_view, team_view
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import AUTHED, TEAM_REQUIRED, TEAMS_MODE
from ctfd_twisted.http.routes import Routes

_MEMBER = (TEAMS_MODE, AUTHED, TEAM_REQUIRED)


class OwnTeamApi:
    """What members and captains may do with their team."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, keys: Keys) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards
        self._keys = keys

    @routes.get("/api/v1/teams/me", *_MEMBER)
    async def show_my_team(self, call: Call) -> Answer:
        """One's team, with the score as it is now."""
        team, score = await self._db.read(team_profile, call.competition, _team_id(call), everyone=True, frozen=False)
        place = await self._boards.account_place(team.id) if call.sees_scores else None
        return ok({**team_view(team, "self"), "place": place, "score": score})

    @routes.patch("/api/v1/teams/me", *_MEMBER)
    async def edit_my_team(self, call: Call) -> Answer:
        """Change the team that one is captain of."""
        player = call.require_player()
        sent = read_sent(call, OwnTeamBody)
        if player.is_admin:
            password = await self._passwords.of_admin(sent.body)
        else:
            stored = await self._db.read(teams.confirming_passwords, player.id)
            password = await self._passwords.of_player(sent.body, stored)
        team = await self._db.run(teams.edit_own_team, call.competition, player, sent, password)
        return ok(team_view(team, "self"))

    @routes.delete("/api/v1/teams/me", *_MEMBER)
    async def disband_my_team(self, call: Call) -> Answer:
        """Disband the team that one is captain of, if it never did anything."""
        await self._db.run(membership.disband_own_team, call.competition, call.require_player().id)
        return done()

    @routes.post("/api/v1/teams/me/members", *_MEMBER)
    async def invite(self, call: Call) -> Answer:
        """An invite into the team that one is captain of."""
        player = call.require_player()
        return ok({"code": await self._db.read(membership.make_own_invite, call.now, self._keys, player.id)})

    @routes.get("/api/v1/teams/me/solves", *_MEMBER)
    async def list_my_solves(self, call: Call) -> Answer:
        """What the members solved."""
        return await self._deeds(call, "correct")

    @routes.get("/api/v1/teams/me/fails", *_MEMBER)
    async def list_my_fails(self, call: Call) -> Answer:
        """What the members got wrong; others than administrators are told how often."""
        return await self._deeds(call, "incorrect")

    @routes.get("/api/v1/teams/me/awards", *_MEMBER)
    async def list_my_awards(self, call: Call) -> Answer:
        """What the members were awarded."""
        asker = Asker(call.player, call.now, own=True)
        found = await self._db.read(list_team_awards, call.competition, asker, _team_id(call))
        return ok([award_view(award, requirements=True, type=True) for award in found], meta={"count": len(found)})

    async def _deeds(self, call: Call, type: str) -> Answer:
        asker = Asker(call.player, call.now, own=True)
        found = await self._db.read(list_team_deeds, call.competition, asker, _team_id(call), type)
        return deeds_answer(call, found, type)


def _team_id(call: Call) -> int:
    team_id = call.require_player().team_id
    if team_id is None:
        raise Forbidden  # the gate has let nobody without a team pass
    return team_id
