"""``/api/v1/pages``, for administrators."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.content import pages_store as store
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.plain_bodies import read_plain
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/pages"
_ONE: Final = "/api/v1/pages/<page_id>"


class PagesApi:
    """The competition's own pages; a change is seen from the next request on."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.PageFilter, data=list[store.PageListed])
    async def list_pages(self, call: Call) -> Answer:
        """All pages, or those that the query describes, without their content."""
        return ok(await self._db.read(store.list_pages, call.query(store.PageFilter)))

    @routes.post(_ALL, ADMIN, body=store.PageFields, data=store.PageShown)
    async def create(self, call: Call) -> Answer:
        """Write a page."""
        return ok(await self._db.run(store.create_page, call.body(store.PageFields, read_plain)))

    @routes.get(_ONE, ADMIN, data=store.PageShown)
    async def show(self, call: Call, page_id: str) -> Answer:
        """One page."""
        del call
        return ok(await self._db.read(store.read_page, row_id(page_id)))

    @routes.patch(_ONE, ADMIN, body=store.PageFields, data=store.PageShown)
    async def update(self, call: Call, page_id: str) -> Answer:
        """Change what the body names."""
        return ok(await self._db.run(store.update_page, row_id(page_id), call.body(store.PageFields)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, page_id: str) -> Answer:
        """Remove a page with its comments; its files stay."""
        del call
        await self._db.run(store.delete_page, row_id(page_id))
        return done()
