"""The answers that routes have in common, and which of them a route can give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, NotRequired, TypedDict

from ctfd_twisted.http.answers import HTML, JSON, TEXT
from ctfd_twisted.http.described import Described, Errors, Message
from ctfd_twisted.http.gates import (
    ACCOUNTS_VISIBLE,
    ADMIN,
    ANYONE,
    AUTHED,
    CHALLENGES_VISIBLE,
    DURING_EVENT,
    SCORES_VISIBLE,
    TEAM_REQUIRED,
    TEAMS_MODE,
    VERIFIED,
    Gate,
)
from ctfd_twisted.http.routes import Route


class Asked(NamedTuple):
    """What a gate asks, for people, and the statuses by which it refuses, beside the way to a page (302)."""

    text: str
    statuses: tuple[int, ...]


GATES: Final[Mapping[Gate, Asked]] = {
    ANYONE: Asked("For everybody.", ()),
    AUTHED: Asked("For whoever is logged in.", (403,)),
    ADMIN: Asked("For administrators.", (403,)),
    VERIFIED: Asked("While addresses must be verified, players need a verified one.", (403,)),
    DURING_EVENT: Asked("While the competition runs, and after its end where it may still be viewed.", (403,)),
    CHALLENGES_VISIBLE: Asked("For those to whom challenges are visible.", (403,)),
    SCORES_VISIBLE: Asked("For those to whom scores are visible.", (403, 404)),
    ACCOUNTS_VISIBLE: Asked("For those to whom accounts are visible.", (403, 404)),
    TEAMS_MODE: Asked("Where teams play.", (404,)),
    TEAM_REQUIRED: Asked("For members of a team.", (403, 404)),
}


def asked(gate: Gate) -> Asked:
    """What *gate* asks; a gate of a feature's own may refuse by either status, and its docstring says what it asks."""
    return GATES.get(gate) or Asked(" ".join((gate.__doc__ or "").split()), (403, 404))


class Malformed(TypedDict):
    """A body that is not of the structure that was asked for."""

    success: Literal[False]
    message: str
    errors: dict[str, list[str]]


class Defect(TypedDict):
    """A defect of the server; the reference stands in its log."""

    message: str
    reference: NotRequired[str]


class TooOften(TypedDict):
    """A rate limit."""

    code: Literal[429]
    message: str


def refusals(route: Route, malformed_status: int) -> Iterator[Described]:
    """Every answer beside success that *route* can give for reasons that are not its own."""
    writes = route.method != "GET"
    gates = {status for gate in route.gates for status in asked(gate).statuses}
    yield Described(400, TEXT, None, "This server is not known by that host name, or the path is no text.")
    yield Described(503, TEXT, None, "This node is not ready yet.")
    if route.always:
        return
    yield Described(
        302, HTML, None, "To the page where a browser has to go first: setup, login, a team, a new password."
    )
    yield Described(401, JSON, Message, "The access token does not count, or the session has ended.")
    yield Described(403, HTML, None, "The caller, or their team, is banned.")
    yield Described(500, JSON, Defect, "A defect of this server.")
    yield Described(503, JSON, Message, "A bounded queue is full, or the database can't be used.")
    if writes:
        yield Described(403, JSON, Message, "The nonce of the session is missing or wrong.")
        yield Described(400, JSON, Errors, "A value breaks a rule.")
        yield Described(413, JSON, Message, "The body is too large.")
    if route.query:
        yield Described(400, JSON, Errors, "A parameter of the query is wrong.")
    if route.body is not None:
        yield Described(malformed_status, JSON, Malformed, "The body is not of the structure that is asked for.")
    if 403 in gates:  # noqa: PLR2004 - HTTP's
        yield Described(403, JSON, Message, "The caller may not do this, or not now.")
    if 404 in gates:  # noqa: PLR2004 - HTTP's
        yield Described(404, JSON, Message, "There is nothing here as the competition is set.")
    if "<" in route.path:
        yield Described(404, JSON, Message, "There is no such thing, or not for this caller.")
        yield Described(404, HTML, None, "The path is none of the API's.")
    if route.limit is not None:
        text = f"More than {route.limit.requests} requests in {route.limit.seconds} seconds."
        yield Described(429, JSON, TooOften, text)
