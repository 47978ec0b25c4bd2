"""``/api/v1/challenges/<id>/ratings``."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.challenges import ratings_store as store
from ctfd_twisted.challenges.catalogue import Ratings
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound, Refused
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN, AUTHED, CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes

_PATH: Final = "/api/v1/challenges/<challenge_id>/ratings"
_PAGE_SIZE: Final = 20
_LARGEST_PAGE: Final = 50
_SOLVE_FIRST: Final = {"": ["You must solve this challenge before rating it"]}


class RatingsApi:
    """Ratings of challenges; their sums stand in the challenge's detail."""

    routes = Routes()

    def __init__(self, db: Database, reader: ChallengeReader) -> None:
        self._db = db
        self._reader = reader

    @routes.get(_PATH, ADMIN)
    async def list_ratings(self, call: Call, challenge_id: str) -> Answer:
        """One page of ratings with their reviews, newest first."""
        page = asked_page(call.argument("page"), call.argument("per_page"), size=_PAGE_SIZE, most=_LARGEST_PAGE)
        try:
            number = row_id(challenge_id)
        except NotFound:
            return ok([], meta={**page.meta(0), "summary": Ratings()})
        found = await self._db.read(store.list_ratings, number, page.offset, page.size)
        return ok(found.items, meta={**page.meta(found.summary.count), "summary": found.summary})

    @routes.put(_PATH, CHALLENGES_VISIBLE, DURING_EVENT, AUTHED, VERIFIED)
    async def rate(self, call: Call, challenge_id: str) -> Answer:
        """Rate a challenge that the caller's account has solved; administrators rate any."""
        if call.competition.text("challenge_ratings") == "disabled":
            raise Forbidden
        view = self._reader.ready(call) or await self._reader.get(call)
        entry = view.accessible(challenge_id)
        if not call.is_admin and entry.id not in view.own.solved:
            raise Refused(_SOLVE_FIRST)
        new = store.read_rating(call.body_object() if call.raw_body().strip() else {})
        return ok(await self._db.run(store.rate, call.now, call.require_player().id, entry.id, new))
