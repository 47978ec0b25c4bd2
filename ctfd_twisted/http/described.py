"""What a route says about its bodies and answers, beside what the pipeline must know."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import msgspec

from ctfd_twisted.http.answers import JSON


class Body(msgspec.Struct, frozen=True):
    """What a request's body holds.

    *type* is a struct (read as ``http.bodies`` reads it, so leniently), several whose fields stand in one object, or
    any other type (which is meant as it stands). *optional* bodies may be left out; *files* is the name of the parts of
    ``multipart/form-data`` that hold files, and then the body comes in no other form.
    """

    type: Any
    optional: bool = False
    files: str | None = None

    @property
    def structs(self) -> tuple[type[msgspec.Struct], ...]:
        """The structs of its fields; none where the type is another."""
        kinds = self.type if isinstance(self.type, tuple) else (self.type,)
        return tuple(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct))


class Reads(msgspec.Struct, frozen=True):
    """All that a route says it reads: the structs of its query and of its body, and whether it has a body at all."""

    structs: frozenset[type[msgspec.Struct]]
    body: bool


class Described(msgspec.Struct, frozen=True):
    """One answer beside those that every route can give; *type* is None where the body is no JSON, or is empty."""

    status: int
    content_type: str
    type: Any
    description: str


class Errors(TypedDict):
    """What is wrong, by field; the key ``""`` is the general slot."""

    success: Literal[False]
    errors: dict[str, str | list[str]]


class Message(TypedDict):
    """A refusal in one sentence."""

    message: str


def refused(description: str) -> Described:
    """403 with a message per field (``errors.Refused``)."""
    return Described(403, JSON, Errors, description)


def invalid(description: str) -> Described:
    """400 with a message per field (``errors.Invalid``), of a route that reads neither a query nor a body."""
    return Described(400, JSON, Errors, description)


def impossible(description: str) -> Described:
    """500 with a message per field (``errors.Impossible``)."""
    return Described(500, JSON, Errors, description)


def missing(description: str) -> Described:
    """404 with a sentence (``errors.NotFound``), of a route whose path has no parameter."""
    return Described(404, JSON, Message, description)
