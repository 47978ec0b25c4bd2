"""``/api/v1/submissions``, for administrators."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import AskedPages, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.scoring import submissions_store as store

_ALL: Final = "/api/v1/submissions"
_ONE: Final = "/api/v1/submissions/<submission_id>"
_SIZE: Final = 20
_MOST: Final = 100
#: This one body is checked by another part of CTFd than most, which words what is wrong otherwise, and without a list.
_WORDED: Final = {"Not a valid integer.": "value is not a valid integer", "Not a valid string.": "str type expected"}


class Regrading(msgspec.Struct, frozen=True):
    """What a submission shall be."""

    type: Any = None


class SubmissionsApi:
    """Every answer that was given, and what came of it."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(_ALL, ADMIN, query=(store.SubmissionFilter, AskedPages), data=list[store.SubmissionShown], meta=Paged)
    async def list_submissions(self, call: Call) -> Answer:
        """One page of all submissions, or of those that the query describes."""
        wanted, asked = call.query(store.SubmissionFilter), call.query(AskedPages)
        page = asked_page(asked.page, asked.per_page, size=_SIZE, most=_MOST)
        found = await self._db.read(store.list_submissions, wanted, page)
        return ok(found.items, meta=page.meta(found.total))

    @routes.post(_ALL, ADMIN, body=store.SubmissionFields, data=store.SubmissionShown)
    async def create(self, call: Call) -> Answer:
        """Add a submission; a ``correct`` one is a solve.

        A ``date`` is refused: what is added is added now.
        """
        return ok(await self._db.run(store.create_submission, call.now, _sent(call)))

    @routes.get(_ONE, ADMIN, data=store.SubmissionShown)
    async def show(self, call: Call, submission_id: str) -> Answer:
        """One submission."""
        del call
        return ok(await self._db.read(store.read_submission, row_id(submission_id)))

    @routes.patch(_ONE, ADMIN, body=Regrading, data=store.SubmissionShown)
    async def regrade(self, call: Call, submission_id: str) -> Answer:
        """Make a submission right (``correct``) or wrong (``incorrect``).

        Made right it becomes a new submission, which is answered; any other ``type`` changes nothing.
        """
        sent = call.body(Regrading).type
        return ok(await self._db.run(store.regrade_submission, call.now, row_id(submission_id), sent))

    @routes.delete(_ONE, ADMIN, data=None)
    async def delete(self, call: Call, submission_id: str) -> Answer:
        """Remove one, a solve as well."""
        del call
        await self._db.run(store.delete_submission, row_id(submission_id))
        return done()


def _sent(call: Call) -> store.SubmissionFields:
    if "date" in call.body_object():
        # CTFd refuses it as well. What is added is added now.
        raise Invalid(date=["Not a valid datetime."])
    try:
        return call.body(store.SubmissionFields)
    except Invalid as error:
        texts = {field: text if isinstance(text, str) else text[0] for field, text in error.errors.items()}
        raise Invalid({field: _WORDED.get(text, text) for field, text in texts.items()}) from None
