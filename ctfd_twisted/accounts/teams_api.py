"""``/api/v1/teams``: everybody's list and profiles, and administrators' changes. In users mode all of it is 404."""

from __future__ import annotations

import msgspec

from ctfd_twisted.accounts import membership, teams
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import TeamBody
from ctfd_twisted.accounts.deletion import delete_team
from ctfd_twisted.accounts.history import Asker, list_team_awards, list_team_deeds
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.profiles import PAGE_SIZE, list_teams, show_team
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import team_profile
from ctfd_twisted.accounts.users_api import asked_accounts, deeds_answer
from ctfd_twisted.accounts.views import award_view, team_view
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.bodies import read_struct
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE, TEAMS_MODE
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes


class Member(msgspec.Struct, frozen=True):
    """Who is to be put into a team, or taken out."""

    user_id: int


class TeamsApi:
    """Teams as everybody and administrators deal with them; one's own team is in ``own_team_api``."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, keys: Keys) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards
        self._keys = keys

    @routes.get("/api/v1/teams", TEAMS_MODE, ACCOUNTS_VISIBLE)
    async def list_teams(self, call: Call) -> Answer:
        """One page of teams, without their members."""
        wanted = asked_accounts(call)
        page = asked_page(call.argument("page"), size=PAGE_SIZE)
        found = await self._db.read(list_teams, wanted, page.number)
        shown = [team_view(team, "admin" if call.is_admin else "user") for team in found.items]
        for team in shown:
            del team["members"]
        return ok(shown, meta=page.meta(found.total))

    @routes.post("/api/v1/teams", TEAMS_MODE, ADMIN)
    async def create_team(self, call: Call) -> Answer:
        """Create a team without members."""
        sent = read_sent(call, TeamBody)
        password = await self._passwords.of_admin(sent.body)
        return ok(team_view(await self._db.run(teams.create_team, call.now, sent, password), "admin"))

    @routes.get("/api/v1/teams/<int:team_id>", TEAMS_MODE, ACCOUNTS_VISIBLE)
    async def show_team(self, call: Call, team_id: int) -> Answer:
        """One team with its place and score."""
        team, score = await self._db.read(team_profile, call.competition, team_id, everyone=call.is_admin, frozen=True)
        place = await self._boards.account_place(team.id) if call.sees_scores else None
        shown = team_view(team, "admin" if call.is_admin else "user")
        return ok({**shown, "place": place, "score": score if call.sees_scores else None})

    @routes.patch("/api/v1/teams/<int:team_id>", TEAMS_MODE, ADMIN)
    async def edit_team(self, call: Call, team_id: int) -> Answer:
        """Change a team."""
        sent = read_sent(call, TeamBody)
        password = await self._passwords.of_admin(sent.body)
        return ok(team_view(await self._db.run(teams.edit_team, team_id, sent, password), "admin"))

    @routes.delete("/api/v1/teams/<int:team_id>", TEAMS_MODE, ADMIN)
    async def delete_team(self, call: Call, team_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """Delete a team; its members stay."""
        await self._db.run(delete_team, team_id)
        return done()

    @routes.get("/api/v1/teams/<int:team_id>/members", TEAMS_MODE, ADMIN)
    async def list_members(self, call: Call, team_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """The ids of a team's members."""
        return ok((await self._db.read(show_team, team_id, everyone=True)).members)

    @routes.post("/api/v1/teams/<int:team_id>/members", TEAMS_MODE, ADMIN)
    async def add_member(self, call: Call, team_id: int) -> Answer:
        """Put a user into a team; without a body, an invite into it."""
        raw = call.body_object() if call.raw_body().strip() else {}
        if not raw:
            code = await self._db.read(membership.make_invite, call.now, self._keys, team_id)
            return ok({"code": code})
        return ok(await self._db.run(membership.add_member, team_id, read_struct(raw, Member).user_id))

    @routes.delete("/api/v1/teams/<int:team_id>/members", TEAMS_MODE, ADMIN)
    async def remove_member(self, call: Call, team_id: int) -> Answer:
        """Take a user out of a team, with all they did."""
        return ok(await self._db.run(membership.remove_member, team_id, call.body(Member).user_id))

    @routes.get("/api/v1/teams/<int:team_id>/solves", TEAMS_MODE, ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_solves(self, call: Call, team_id: int) -> Answer:
        """What the team's members solved."""
        return await self._deeds(call, team_id, "correct")

    @routes.get("/api/v1/teams/<int:team_id>/fails", TEAMS_MODE, ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_fails(self, call: Call, team_id: int) -> Answer:
        """What the team's members got wrong; others than administrators are told how often."""
        return await self._deeds(call, team_id, "incorrect")

    @routes.get("/api/v1/teams/<int:team_id>/awards", TEAMS_MODE, ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_awards(self, call: Call, team_id: int) -> Answer:
        """What the team's members were awarded."""
        found = await self._db.read(list_team_awards, call.competition, Asker(call.player, call.now), team_id)
        return ok([award_view(award, requirements=True, type=True) for award in found], meta={"count": len(found)})

    async def _deeds(self, call: Call, team_id: int, type: str) -> Answer:
        asker = Asker(call.player, call.now)
        return deeds_answer(call, await self._db.read(list_team_deeds, call.competition, asker, team_id, type), type)
