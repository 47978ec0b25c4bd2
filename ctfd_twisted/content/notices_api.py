"""``/api/v1/notifications``: for everybody to read, for administrators to make and remove."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.content import notices_store as store
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswers

_ALL: Final = "/api/v1/notifications"
_ONE: Final = "/api/v1/notifications/<notice_id>"
#: So many different questions are kept answered: what thousands ask alike differs in ``since_id`` alone.
_KEPT: Final = 100


class NoticesApi:
    """What the organisers had to say; answered from memory, since every open page asks again and again."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lists = SharedAnswers(db, _listed, store.TOPICS)
        self._counts = KeyedSnapshots(db, db.bus, _counted, store.TOPICS, limit=_KEPT)

    @routes.get(_ALL, ANYONE, query=store.NoticeFilter, data=list[store.NoticeShown], also=(SAME,))
    def list_notices(self, call: Call) -> Any:
        """All notifications or those that the query describes, oldest first.

        HEAD asks how many there are, which the header ``Result-Count`` tells.
        """
        wanted = call.query(store.NoticeFilter)
        if call.request.method == b"HEAD":
            return self._counts.ready(wanted) or self._counts.get(wanted)
        return self._lists.to(call, wanted)

    @routes.post(_ALL, ADMIN, body=store.NoticeFields, data=store.NoticeTold)
    async def create(self, call: Call) -> Answer:
        """Make a notification; whoever listens to ``/events`` hears of it."""
        return ok(await self._db.run(store.create_notice, call.now, call.body(store.NoticeFields)))

    @routes.get(_ONE, ANYONE, data=store.NoticeShown)
    async def show(self, call: Call, notice_id: str) -> Answer:
        """One notification."""
        del call
        return ok(await self._db.read(store.read_notice, row_id(notice_id)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, notice_id: str) -> Answer:
        """Remove a notification."""
        del call
        await self._db.run(store.delete_notice, row_id(notice_id))
        return done()


def _listed(conn: Connection, wanted: store.NoticeFilter) -> bytes:
    return ok(store.list_notices(conn, wanted)).body


def _counted(conn: Connection, wanted: store.NoticeFilter) -> Answer:
    number = store.count_notices(conn, wanted)
    return Answer(b"", headers=((b"Result-Count", b"%d" % number),))
