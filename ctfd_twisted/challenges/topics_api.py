"""``/api/v1/topics``, for administrators; players never see topics."""

from __future__ import annotations

from typing import Final, Literal, TypedDict

import msgspec

from ctfd_twisted.challenges import topics_store as store
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import JSON, Answer, done, json_answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body, Described, missing
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes

_ALL: Final = "/api/v1/topics"
_ONE: Final = "/api/v1/topics/<topic_id>"


class BareFailure(TypedDict):
    """What is answered to a wrong ``type``; it says no more in CTFd either."""

    success: Literal[False]


_FAILURE: Final[BareFailure] = {"success": False}
_WRONG_TYPE: Final = json_answer(_FAILURE, 400)
_ALSO: Final = (
    Described(400, JSON, BareFailure, "The type is another than challenge."),
    missing("There is no such topic or link."),
)


class LinkType(msgspec.Struct, frozen=True):
    """What is linked with a topic."""

    type: Literal["challenge"]


class LinkQuery(msgspec.Struct, frozen=True):
    """Which link is to be removed."""

    type: str = ""
    target_id: int = 0


class TopicsApi:
    """Topics and their links to challenges."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=store.TopicFilter, data=list[store.TopicShown])
    async def list_topics(self, call: Call) -> Answer:
        """All topics, or those that the query describes."""
        return ok(await self._db.read(store.list_topics, call.query(store.TopicFilter)))

    @routes.post(_ALL, ADMIN, body=Body((LinkType, store.LinkFields)), data=store.TopicLinked, also=_ALSO)
    async def link(self, call: Call) -> Answer:
        """Link a challenge to a topic, which is made where there is none of that value."""
        if call.body_object().get("type") != "challenge":
            return _WRONG_TYPE
        return ok(await self._db.run(store.link_topic, call.body(store.LinkFields)))

    @routes.delete(_ALL, ADMIN, query=LinkQuery, data=None, also=_ALSO)
    async def unlink(self, call: Call) -> Answer:
        """Remove a link; the topic stays."""
        wanted = call.query(LinkQuery)
        if wanted.type != "challenge":
            return _WRONG_TYPE
        await self._db.run(store.unlink_topic, wanted.target_id)
        return done()

    @routes.get(_ONE, ADMIN, data=store.TopicShown)
    async def show(self, call: Call, topic_id: str) -> Answer:
        """One topic."""
        del call
        return ok(await self._db.read(store.read_topic, row_id(topic_id)))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, topic_id: str) -> Answer:
        """Remove a topic with its links."""
        del call
        await self._db.run(store.delete_topic, row_id(topic_id))
        return done()
