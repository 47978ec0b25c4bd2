"""``/api/v1/teams``: everybody's list and profiles, and administrators' changes. In users mode all of it is 404."""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.accounts import membership, teams
from ctfd_twisted.accounts.awards import list_team_awards
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import NewTeamBody, TeamBody
from ctfd_twisted.accounts.deletion import delete_team
from ctfd_twisted.accounts.history import Asker, DeedType, list_team_deeds
from ctfd_twisted.accounts.history_views import DeedShown, TeamAward, team_awards
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.newcomers import LIST_TOPICS
from ctfd_twisted.accounts.profiles import list_teams, show_team
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import team_profile
from ctfd_twisted.accounts.team_views import TeamForAdmins, TeamListed, TeamProfile, team_for_admins, team_listed
from ctfd_twisted.accounts.team_views import team_profile as profile_shown
from ctfd_twisted.accounts.users_api import AccountQuery, Accounts, asked_accounts, deeds_answer
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.pagination import AskedPage, Counted, Paged
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswers

_ALL: Final = "/api/v1/teams"
_ONE: Final = f"{_ALL}/<int:team_id>"
_MEMBERS: Final = f"{_ONE}/members"
_VISIBLE: Final = (TEAMS_MODE, ACCOUNTS_VISIBLE)
_SCORES: Final = (*_VISIBLE, SCORES_VISIBLE)


class TeamMember(msgspec.Struct, frozen=True):
    """Who is to be put into a team, or taken out."""

    user_id: int


class InviteCode(TypedDict):
    """A code that lets its bearer into a team, at ``/teams/invite?code=``, for a day."""

    code: str


class TeamsApi:
    """Teams as everybody and administrators deal with them; one's own team is in ``own_team_api``."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, keys: Keys) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards
        self._keys = keys
        self._pages = SharedAnswers(db, _listed, LIST_TOPICS)

    @routes.get(_ALL, *_VISIBLE, query=(AccountQuery, AskedPage), data=list[TeamListed], meta=Paged, also=(SAME,))
    def list_teams(self, call: Call) -> Any:
        """One page of teams, without their members."""
        return self._pages.to(call, asked_accounts(call))

    @routes.post(_ALL, TEAMS_MODE, ADMIN, body=(NewTeamBody, TeamBody), data=TeamForAdmins)
    async def create_team(self, call: Call) -> Answer:
        """Create a team without members."""
        sent = read_sent(call, TeamBody)
        password = await self._passwords.of_admin(sent.body)
        return ok(team_for_admins(await self._db.run(teams.create_team, call.now, sent, password)))

    @routes.get(_ONE, *_VISIBLE, data=TeamProfile)
    async def show_team(self, call: Call, team_id: int) -> Answer:
        """One team with its place and score."""
        team, score = await self._db.read(team_profile, call.competition, team_id, everyone=call.is_admin, frozen=True)
        place = await self._boards.account_place(team.id) if call.sees_scores else None
        return ok(profile_shown(team, place, score if call.sees_scores else None, to_admin=call.is_admin))

    @routes.patch(_ONE, TEAMS_MODE, ADMIN, body=TeamBody, data=TeamForAdmins)
    async def edit_team(self, call: Call, team_id: int) -> Answer:
        """Change a team."""
        sent = read_sent(call, TeamBody)
        password = await self._passwords.of_admin(sent.body)
        return ok(team_for_admins(await self._db.run(teams.edit_team, team_id, sent, password)))

    @routes.delete(_ONE, TEAMS_MODE, ADMIN, data=None)
    async def delete_team(self, call: Call, team_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """Delete a team; its members stay."""
        await self._db.run(delete_team, team_id)
        return done()

    @routes.get(_MEMBERS, TEAMS_MODE, ADMIN, data=list[int])
    async def list_members(self, call: Call, team_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """The ids of a team's members."""
        return ok((await self._db.read(show_team, team_id, everyone=True)).members)

    @routes.post(_MEMBERS, TEAMS_MODE, ADMIN, body=Body(TeamMember, optional=True), data=list[int] | InviteCode)
    async def add_member(self, call: Call, team_id: int) -> Answer:
        """Put a user into a team; without a body, the answer is an invite into it instead of the ids of its members."""
        raw = call.body_object() if call.raw_body().strip() else {}
        if not raw:
            return ok(invite_shown(await self._db.read(membership.make_invite, call.now, self._keys, team_id)))
        return ok(await self._db.run(membership.add_member, team_id, call.body(TeamMember).user_id))

    @routes.delete(_MEMBERS, TEAMS_MODE, ADMIN, body=TeamMember, data=list[int])
    async def remove_member(self, call: Call, team_id: int) -> Answer:
        """Take a user out of a team, with all they did; the answer holds the ids of those who stay."""
        return ok(await self._db.run(membership.remove_member, team_id, call.body(TeamMember).user_id))

    @routes.get(f"{_ONE}/solves", *_SCORES, data=list[DeedShown], meta=Counted)
    async def list_solves(self, call: Call, team_id: int) -> Answer:
        """What the team's members solved, the newest first."""
        return await self._deeds(call, team_id, "correct")

    @routes.get(f"{_ONE}/fails", *_SCORES, data=list[DeedShown], meta=Counted)
    async def list_fails(self, call: Call, team_id: int) -> Answer:
        """What the team's members got wrong, the newest first; others than administrators are told only how often."""
        return await self._deeds(call, team_id, "incorrect")

    @routes.get(f"{_ONE}/awards", *_SCORES, data=list[TeamAward], meta=Counted)
    async def list_awards(self, call: Call, team_id: int) -> Answer:
        """What the team's members were awarded, the newest first."""
        found = await self._db.read(list_team_awards, call.competition, Asker(call.player, call.now), team_id)
        return ok(team_awards(found), meta={"count": len(found)})

    async def _deeds(self, call: Call, team_id: int, type: DeedType) -> Answer:
        asker = Asker(call.player, call.now)
        return deeds_answer(call, await self._db.read(list_team_deeds, call.competition, asker, team_id, type), type)


def invite_shown(code: str) -> InviteCode:
    """Return an invite as it is given out."""
    return {"code": code}


def _listed(conn: Connection, asked: Accounts) -> bytes:
    found = list_teams(conn, asked.wanted, asked.page.number)
    shown = [team_listed(team, to_admin=asked.to_admin) for team in found.items]
    return ok(shown, meta=asked.page.meta(found.total)).body
