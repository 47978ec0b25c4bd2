"""Routes as a table that stands beside the handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, NamedTuple, TypedDict, TypeVar, Unpack

import msgspec
from msgspec import UNSET

from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.described import Body, Described, Reads
from ctfd_twisted.http.gates import Gate

#: A handler gets the call and the path's parameters by name.
Handler = Callable[..., Answer | Awaitable[Answer]]
H = TypeVar("H", bound=Callable[..., Any])


#: Stands for the field of a form that :class:`Limit` names, where visitors are told apart by their sessions.
BY_SESSION: Final = ""


class Limit(NamedTuple):
    """At most *requests* in *seconds* per endpoint and account at an address.

    Who is not signed in yet is told apart by the form's field *by*, or by the session for :data:`BY_SESSION`; without
    either the address is all that is known.
    """

    requests: int
    seconds: int
    by: str | None = None


Structs = type[msgspec.Struct] | tuple[type[msgspec.Struct], ...]


class Options(TypedDict, total=False):
    """What a route can say about itself; each is told at the field of :class:`Route` that has its name."""

    limit: tuple[int, int] | tuple[int, int, str]
    always: bool
    before_setup: bool
    query: Structs
    body: Any
    data: Any
    meta: Any
    also: tuple[Described, ...]


class Route(msgspec.Struct, frozen=True):
    """One path with one method, what the pipeline must know about it, and what the API's document tells of it."""

    method: str
    path: str
    gates: tuple[Gate, ...]
    name: str
    limit: Limit | None = None
    #: Answered before the competition is set up, and to everybody alike, whoever asks: theme files.
    always: bool = False
    #: Answered before the competition is set up, but not to the banned.
    before_setup: bool = False
    #: What no other route takes. It changes nothing, so that no nonce is asked for before it is said to be missing.
    last_resort: bool = False
    #: The structs that ``Call.query`` reads here.
    query: tuple[type[msgspec.Struct], ...] = ()
    #: What the body holds; as an option also the struct alone that ``Call.body`` reads.
    body: Body | None = None
    #: The type of ``data`` in the envelope of success; None where there is none, UNSET where there is no envelope.
    data: Any = UNSET
    #: The type of ``meta`` beside ``data``.
    meta: Any = UNSET
    #: Answers beside those that the gates, the limit, query and body bring.
    also: tuple[Described, ...] = ()
    #: All that ``Call.query`` and ``Call.body`` may read here; None where it is not said what this answers.
    reads: Reads | None = None

    @property
    def is_api(self) -> bool:
        """Whether this is part of the REST API."""
        return self.path.startswith("/api/v1/")

    @property
    def is_described(self) -> bool:
        """Whether it is said what this answers."""
        return self.data is not UNSET or bool(self.also)


class Routes:
    """Collects the routes of one class of handlers; use its methods as decorators."""

    def __init__(self) -> None:
        self._routes: list[Route] = []

    def get(self, path: str, *gates: Gate, **options: Unpack[Options]) -> Callable[[H], H]:
        """Route GET and HEAD of *path* here."""
        return self._add("GET", path, gates, options)

    def post(self, path: str, *gates: Gate, **options: Unpack[Options]) -> Callable[[H], H]:
        """Route POST of *path* here."""
        return self._add("POST", path, gates, options)

    def patch(self, path: str, *gates: Gate, **options: Unpack[Options]) -> Callable[[H], H]:
        """Route PATCH of *path* here."""
        return self._add("PATCH", path, gates, options)

    def put(self, path: str, *gates: Gate, **options: Unpack[Options]) -> Callable[[H], H]:
        """Route PUT of *path* here."""
        return self._add("PUT", path, gates, options)

    def delete(self, path: str, *gates: Gate, **options: Unpack[Options]) -> Callable[[H], H]:
        """Route DELETE of *path* here."""
        return self._add("DELETE", path, gates, options)

    def _add(self, method: str, path: str, gates: tuple[Gate, ...], options: Options) -> Callable[[H], H]:
        if not gates:
            raise TypeError(f"{method} {path} names no gate; what is open to all says ANYONE")
        limit, asked, sent = options.get("limit"), options.get("query", ()), options.get("body")
        query = asked if isinstance(asked, tuple) else (asked,)
        body = sent if isinstance(sent, Body) or sent is None else Body(sent)
        reads = Reads(frozenset((*query, *(body.structs if body else ()))), body is not None)

        def add(handler: H) -> H:
            route = Route(
                method,
                path,
                gates,
                handler.__name__,
                limit=None if limit is None else Limit(*limit),
                always=options.get("always", False),
                before_setup=options.get("before_setup", False),
                query=query,
                body=body,
                data=options.get("data", UNSET),
                meta=options.get("meta", UNSET),
                also=options.get("also", ()),
                reads=reads if "data" in options or "also" in options else None,
            )
            self._routes.append(route)
            return handler

        return add

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def of(self, owner: object) -> Iterator[tuple[Route, Handler]]:
        """Each route with its handler bound to *owner*."""
        for route in self._routes:
            yield route, getattr(owner, route.name)
