"""``/api/v1/challenges/<id>/ratings``."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from ctfd_twisted.challenges import ratings_store as store
from ctfd_twisted.challenges.catalogue import Ratings
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound, Refused
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import refused
from ctfd_twisted.http.gates import ADMIN, AUTHED, CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED
from ctfd_twisted.http.pagination import AskedPages, Paged, asked_page
from ctfd_twisted.http.routes import Routes

_PATH: Final = "/api/v1/challenges/<challenge_id>/ratings"
_PAGE_SIZE: Final = 20
_LARGEST_PAGE: Final = 50
_SOLVE_FIRST: Final = {"": ["You must solve this challenge before rating it"]}


class SummedUp(Paged):
    """The ``meta`` of a page of ratings, with what all ratings of the challenge come to."""

    summary: Ratings


class RatingsApi:
    """Ratings of challenges; their sums stand in the challenge's detail."""

    routes = Routes()

    def __init__(self, db: Database, reader: ChallengeReader) -> None:
        self._db = db
        self._reader = reader

    @routes.get(_PATH, ADMIN, query=AskedPages, data=list[store.Review], meta=SummedUp)
    async def list_ratings(self, call: Call, challenge_id: str) -> Answer:
        """One page of ratings with their reviews, newest first."""
        asked = call.query(AskedPages)
        page = asked_page(asked.page, asked.per_page, size=_PAGE_SIZE, most=_LARGEST_PAGE)
        found = store.Reviews((), Ratings())
        with suppress(NotFound):
            found = await self._db.read(store.list_ratings, row_id(challenge_id), page.offset, page.size)
        meta: SummedUp = {**page.meta(found.summary.count), "summary": found.summary}
        return ok(found.items, meta=meta)

    @routes.put(
        _PATH,
        CHALLENGES_VISIBLE,
        DURING_EVENT,
        AUTHED,
        VERIFIED,
        body=store.NewRating,
        data=store.RatingGiven,
        also=(refused("The caller's account has not solved the challenge."),),
    )
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
