"""``POST /api/v1/files``, and how its body comes to the store."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.db.threads import InThread, carried_through
from ctfd_twisted.errors import Invalid
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.receiving import Received
from ctfd_twisted.files.rules import Place, place_of
from ctfd_twisted.files.store import FileShown, Owner
from ctfd_twisted.files.trouble import reached
from ctfd_twisted.files.uploads import Uploads
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.arriving import FormIntake, LetsIn, arrived
from ctfd_twisted.http.bodies import read_query
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body
from ctfd_twisted.http.forms import is_multipart
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Route, Routes

_PATH: Final = "/api/v1/files"
_ROUTE: Final = Route("POST", _PATH, (ADMIN,), "upload")
_ONE_ONLY: Final = "Location cannot be specified with multiple files"
_TWO_PARTS: Final = "Location must contain two parts, a directory and a filename"


class UploadFields(msgspec.Struct, frozen=True):
    """What an upload says beside its files; each owner has two names.

    ``location`` is a directory and a name, for one file; without it, a file gets a directory of its own.
    """

    type: Literal["standard", "challenge", "page", "solution"] = "standard"
    challenge_id: int | UnsetType = UNSET
    challenge: int | UnsetType = UNSET
    page_id: int | UnsetType = UNSET
    page: int | UnsetType = UNSET
    solution_id: int | UnsetType = UNSET
    solution: int | UnsetType = UNSET
    location: str | UnsetType = UNSET

    def owner(self) -> Owner:
        """What the files belong to: one of the kind that ``type`` names, if any."""
        if self.type == "standard":
            return Owner("standard")
        named = (getattr(self, f"{self.type}_id"), getattr(self, self.type))
        found = next((number for number in named if number is not UNSET), None)
        return Owner(self.type, **{f"{self.type}_id": found})


class UploadApi:
    """Files from administrators."""

    routes = Routes()

    def __init__(self, uploads: Uploads, store: Store, in_thread: InThread) -> None:
        self._uploads = uploads
        self._store = store
        self._in_thread = in_thread

    @routes.post(_PATH, ADMIN, body=Body(UploadFields, files="file"), data=list[FileShown])
    async def upload(self, call: Call) -> Answer:
        """Upload files; what comes to a location that is taken replaces the file there.

        Another kind of body brings no file, and is answered with an empty list.
        """
        if not is_multipart(call.request.getHeader(b"content-type")):
            return ok([])
        return await reached(carried_through(self._upload(call)))

    async def _upload(self, call: Call) -> Answer:
        received = await arrived(call, Received, partial(Received, self._store), self._in_thread)
        try:
            if received.problem is not None:
                raise received.problem
            fields = read_query(received.fields, UploadFields)
            places = _places(received, fields.location or UNSET)
            if not places:
                return ok([])
            return ok(await self._uploads.add(fields.owner(), received.parts, places))
        finally:
            await self._in_thread(received.discard)


def upload_intake(store: Store, in_thread: InThread, lets_in: LetsIn, root: str, limit: int) -> FormIntake:
    """What takes uploads of at most *limit* bytes to the store while they arrive, from administrators alone."""
    return FormIntake(_ROUTE, partial(Received, store), in_thread, lets_in, root, limit)


def _places(received: Received, location: str | UnsetType) -> list[Place]:
    if received.unnamed:
        raise Invalid({"file": ["A file needs a name"]})
    if location is UNSET:
        return [part.place for part in received.parts]
    if len(received.parts) > 1:
        raise Invalid({"location": [_ONE_ONLY]})
    place = place_of(location)
    if place is None:
        raise Invalid({"location": [_TWO_PARTS]})
    return [place for _ in received.parts]
