"""Routes as a table that stands beside the handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.gates import Gate

#: A handler gets the call and the path's parameters by name.
Handler = Callable[..., Answer | Awaitable[Answer]]
H = TypeVar("H", bound=Callable[..., Any])


class Limit(NamedTuple):
    """At most *requests* in *seconds* per endpoint and account at an address.

    Who is not signed in yet is told apart by the form's field *by*; without one the address is all that is known.
    """

    requests: int
    seconds: int
    by: str | None = None


class Route(msgspec.Struct, frozen=True):
    """One path with one method, and what the pipeline must know about it."""

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

    @property
    def is_api(self) -> bool:
        """Whether this is part of the REST API."""
        return self.path.startswith("/api/v1/")


class Routes:
    """Collects the routes of one class of handlers; use its methods as decorators."""

    def __init__(self) -> None:
        self._routes: list[Route] = []

    def get(self, path: str, *gates: Gate, **options: Any) -> Callable[[H], H]:
        """Route GET and HEAD of *path* here."""
        return self._add("GET", path, gates, options)

    def post(self, path: str, *gates: Gate, **options: Any) -> Callable[[H], H]:
        """Route POST of *path* here."""
        return self._add("POST", path, gates, options)

    def patch(self, path: str, *gates: Gate, **options: Any) -> Callable[[H], H]:
        """Route PATCH of *path* here."""
        return self._add("PATCH", path, gates, options)

    def put(self, path: str, *gates: Gate, **options: Any) -> Callable[[H], H]:
        """Route PUT of *path* here."""
        return self._add("PUT", path, gates, options)

    def delete(self, path: str, *gates: Gate, **options: Any) -> Callable[[H], H]:
        """Route DELETE of *path* here."""
        return self._add("DELETE", path, gates, options)

    def _add(self, method: str, path: str, gates: tuple[Gate, ...], options: dict[str, Any]) -> Callable[[H], H]:
        if not gates:
            raise TypeError(f"{method} {path} names no gate; what is open to all says ANYONE")
        limit = options.pop("limit", None)

        def add(handler: H) -> H:
            counted = Limit(*limit) if limit else None
            self._routes.append(Route(method, path, gates, handler.__name__, limit=counted, **options))
            return handler

        return add

    def of(self, owner: object) -> Iterator[tuple[Route, Handler]]:
        """Each route with its handler bound to *owner*."""
        for route in self._routes:
            yield route, getattr(owner, route.name)
