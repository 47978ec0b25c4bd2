"""``/api/v1/tags``, for administrators."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.challenges import tags_store as store
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/tags"
_ONE: Final = "/api/v1/tags/<tag_id>"


class TagsApi:
    """Tags, one row for each challenge that has one."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.TagFilter, data=list[store.TagShown])
    async def list_tags(self, call: Call) -> Answer:
        """All tags, or those that the query describes."""
        return ok(await self._db.read(store.list_tags, call.query(store.TagFilter)))

    @routes.post(_ALL, ADMIN, body=store.TagFields, data=store.TagShown)
    async def create(self, call: Call) -> Answer:
        """Give a challenge a tag."""
        return ok(await self._db.run(store.create_tag, call.body(store.TagFields)))

    @routes.get(_ONE, ADMIN, data=store.TagShown)
    async def show(self, call: Call, tag_id: str) -> Answer:
        """One tag."""
        del call
        return ok(await self._db.read(store.read_tag, row_id(tag_id)))

    @routes.patch(_ONE, ADMIN, body=store.TagFields, data=store.TagShown)
    async def update(self, call: Call, tag_id: str) -> Answer:
        """Change what the body names."""
        return ok(await self._db.run(store.update_tag, row_id(tag_id), call.body(store.TagFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, tag_id: str) -> Answer:
        """Remove a tag."""
        del call
        await self._db.run(store.delete_tag, row_id(tag_id))
        return done()
