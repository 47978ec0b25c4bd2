"""Forms with files too large for memory: they are taken where they belong, a piece at a time, while they arrive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from multipart import MultipartError, MultipartSegment, PushMultipartParser
from twisted.web.server import Request

from ctfd_twisted.db.threads import InThread
from ctfd_twisted.errors import Invalid, TooLarge
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.forms import TEXT, boundary_of, is_multipart, unreadable
from ctfd_twisted.http.intake import taken_by
from ctfd_twisted.http.routes import Route

#: ``Pipeline.lets_in``: whether a request, of which the headers have come, would get past a route's gates.
LetsIn = Callable[[Request, Route], Coroutine[Any, Any, bool]]


class ArrivingForm(ABC):
    """One form: its text fields, and its files, which a subclass keeps. Every method waits for where they are kept.

    :param content_type: the body's, with the boundary.
    :param most_parts: so many parts are read.
    """

    def __init__(self, content_type: bytes, most_parts: int) -> None:
        self.fields: dict[str, str] = {}
        #: Why the form can't be taken: it is broken, it can't be kept, or there is a defect of ours.
        self.problem: Exception | None = None
        self._parser: PushMultipartParser | None = None
        self._segment: MultipartSegment | None = None
        self._text = bytearray()
        self._length = 0
        try:
            self._parser = PushMultipartParser(boundary_of(content_type), max_segment_count=most_parts)
        except (MultipartError, Invalid) as error:
            self._give_up(error)

    def feed(self, data: bytes) -> None:
        """Take the next piece; after a problem the rest is forgotten."""
        if self.problem is not None or self._parser is None:
            return
        try:
            for event in self._parser.parse(data):
                if isinstance(event, MultipartSegment):
                    self._begin(event)
                elif event is None:
                    self._end()
                else:
                    self._take(event)
        except Exception as error:  # noqa: BLE001 - whoever answers raises it; parts of a form must not pass for it
            self._give_up(error)

    def finish(self) -> None:
        """Know that the body is complete, or that it ended too early."""
        if self.problem is None and self._parser is not None:
            try:
                self._parser.close()
            except MultipartError as error:
                self._give_up(error)

    @abstractmethod
    def discard(self) -> None:
        """Remove what nobody has taken or kept; may be called again, and before the subclass is complete."""

    @abstractmethod
    def file_begins(self, name: str, filename: str) -> None:
        """A part *name* comes that is a file, called *filename* by who sends it."""

    @abstractmethod
    def file_goes_on(self, data: bytes | bytearray) -> None:
        """The next piece of it."""

    @abstractmethod
    def file_ends(self) -> None:
        """It has come whole."""

    def _begin(self, segment: MultipartSegment) -> None:
        self._segment = segment
        self._text = bytearray()
        if segment.filename is not None:
            self.file_begins(segment.name, segment.filename)

    def _take(self, data: bytes | bytearray) -> None:
        if self._segment is None:
            return
        if self._segment.filename is not None:
            self.file_goes_on(data)
            return
        self._length += len(data)
        if self._length > TEXT:
            raise TooLarge(TEXT)
        self._text += data

    def _end(self) -> None:
        segment = self._segment
        if segment is None:
            return
        if segment.filename is not None:
            self.file_ends()
        elif segment.name:
            self.fields[segment.name] = self._text.decode("utf-8", "replace").replace("\0", "")

    def _give_up(self, error: Exception) -> None:
        self.problem = unreadable(str(error.args[0])) if isinstance(error, MultipartError) else error
        self.discard()


Form = TypeVar("Form", bound=ArrivingForm)


class FormIntake:
    """Takes the forms of *route* while they arrive, from those whom it lets in.

    :param root: where the site is mounted.
    :param limit: the largest body, in bytes.
    :param begin: a place for one form, by its ``Content-Type``.
    """

    def __init__(
        self,
        route: Route,
        begin: Callable[[bytes], ArrivingForm],
        in_thread: InThread,
        lets_in: LetsIn,
        root: str,
        limit: int,
    ) -> None:
        self._route = route
        self._path = (root + route.path).encode("utf-8")
        self._begin = begin
        self._lets_in = lets_in
        self.in_thread = in_thread
        self.limit = limit

    def takes(self, request: Request) -> bool:
        """Whether *request* brings such a form."""
        asked = (request.method, request.path) == (self._route.method.encode(), self._path)
        return asked and is_multipart(request.getHeader(b"content-type"))

    async def admits(self, request: Request) -> bool:
        """Whether the route lets its sender in."""
        return await self._lets_in(request, self._route)

    def receiver(self, request: Request) -> ArrivingForm:
        """A place for what comes."""
        return self._begin(request.getHeader(b"content-type") or b"")


async def arrived(call: Call, kind: type[Form], begin: Callable[[bytes], Form], in_thread: InThread) -> Form:
    """The form of *call* as an intake has taken it; where there is none, the request holds it. The caller discards."""
    taking = taken_by(call.request)
    claimed = None if taking is None else taking.claim()
    if isinstance(claimed, kind):
        return claimed
    form = begin(call.request.getHeader(b"content-type") or b"")
    await in_thread(form.feed, call.raw_body())
    await in_thread(form.finish)
    return form
