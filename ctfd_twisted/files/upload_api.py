"""``POST /api/v1/files``, and how its body comes to the store."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from twisted.web.server import Request

from ctfd_twisted.db.threads import InThread, carried_through
from ctfd_twisted.errors import Invalid
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.receiving import Received
from ctfd_twisted.files.rules import Place, place_of
from ctfd_twisted.files.store import FileShown, Owner
from ctfd_twisted.files.trouble import reached
from ctfd_twisted.files.uploads import Uploads
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.bodies import read_query
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.intake import taken_by
from ctfd_twisted.http.routes import Route, Routes

_PATH: Final = "/api/v1/files"
_ROUTE: Final = Route("POST", _PATH, (ADMIN,), "upload")
_ONE_ONLY: Final = "Location cannot be specified with multiple files"
_TWO_PARTS: Final = "Location must contain two parts, a directory and a filename"

#: ``Pipeline.lets_in``: whether a request, of which the headers have come, would get past a route's gates.
LetsIn = Callable[[Request, Route], Coroutine[Any, Any, bool]]


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
        received = await self._received(call)
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

    async def _received(self, call: Call) -> Received:
        taking = taken_by(call.request)
        claimed = None if taking is None else taking.claim()
        if isinstance(claimed, Received):
            return claimed
        # The request holds it: this server has no intake.
        content_type = call.request.getHeader(b"content-type") or b""
        received = Received(self._store, content_type)
        await self._in_thread(received.feed, call.raw_body())
        await self._in_thread(received.finish)
        return received


class UploadIntake:
    """Takes the bodies of uploads to the store; bodies of *limit* bytes at most, and of administrators alone."""

    def __init__(self, store: Store, in_thread: InThread, lets_in: LetsIn, root: str, limit: int) -> None:
        self._store = store
        self._path = (root + _PATH).encode("utf-8")
        self._lets_in = lets_in
        self.in_thread = in_thread
        self.limit = limit

    def takes(self, request: Request) -> bool:
        """Whether *request* is an upload."""
        to_files = request.method == b"POST" and request.path == self._path
        return to_files and is_multipart(request.getHeader(b"content-type"))

    async def admits(self, request: Request) -> bool:
        """Whether an administrator sends it."""
        return await self._lets_in(request, _ROUTE)

    def receiver(self, request: Request) -> Received:
        """A place for what comes."""
        return Received(self._store, request.getHeader(b"content-type") or b"")


def is_multipart(content_type: bytes | None) -> bool:
    """Whether a body of this type may hold files."""
    return (content_type or b"").split(b";", 1)[0].strip().lower() == b"multipart/form-data"


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
