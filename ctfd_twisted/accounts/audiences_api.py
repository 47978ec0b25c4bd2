"""``/api/v1/audiences``, for administrators."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.accounts import audiences as store
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/audiences"
_ONE: Final = "/api/v1/audiences/<int:audience_id>"
_MEMBERS: Final = f"{_ONE}/members"


class AudiencesApi:
    """Audiences and who is in them; a change counts from the next request of whom it concerns."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.AudienceFilter, data=list[store.Audience])
    async def list_audiences(self, call: Call) -> Answer:
        """All audiences, or those that the query describes."""
        return ok(await self._db.read(store.list_audiences, call.query(store.AudienceFilter)))

    @routes.post(_ALL, ADMIN, body=store.AudienceFields, data=store.Audience)
    async def create(self, call: Call) -> Answer:
        """Make an audience."""
        return ok(await self._db.run(store.create_audience, call.body(store.AudienceFields)))

    @routes.get(_ONE, ADMIN, data=store.Audience)
    async def show(self, call: Call, audience_id: int) -> Answer:
        """One audience."""
        del call
        return ok(await self._db.read(store.read_audience, audience_id))

    @routes.patch(_ONE, ADMIN, body=store.AudienceFields, data=store.Audience)
    async def update(self, call: Call, audience_id: int) -> Answer:
        """Change what the body names of an audience, which is at least the name."""
        return ok(await self._db.run(store.update_audience, audience_id, call.body(store.AudienceFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, audience_id: int) -> Answer:
        """Remove an audience."""
        del call
        await self._db.run(store.delete_audience, audience_id)
        return done()

    @routes.get(_MEMBERS, ADMIN, data=list[store.AudienceMember])
    async def list_members(self, call: Call, audience_id: int) -> Answer:
        """Who is in an audience."""
        del call
        return ok(await self._db.read(store.list_members, audience_id))

    @routes.post(_MEMBERS, ADMIN, body=store.AudienceMemberFields, data=store.AudienceMember)
    async def add_member(self, call: Call, audience_id: int) -> Answer:
        """Add a user or a team to an audience."""
        return ok(await self._db.run(store.add_member, audience_id, call.body(store.AudienceMemberFields)))

    @routes.delete(f"{_MEMBERS}/<int:member_id>", ADMIN, data=None)
    async def remove_member(self, call: Call, audience_id: int, member_id: int) -> Answer:
        """Remove a membership of an audience, by the membership's id."""
        del call
        await self._db.run(store.remove_member, audience_id, member_id)
        return done()
