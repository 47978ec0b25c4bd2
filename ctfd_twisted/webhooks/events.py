"""The events: one frozen type each, with its name, exactly the fields that receivers are promised, and an example.

A new event is a subclass of :class:`Event` here, listed in :data:`EVENTS`, and one ``store.emit(conn, now, …)`` at the
end of the transaction that causes it. The examples stand in ``docs/webhooks.md`` and are sent in the delivery test.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import msgspec
from msgspec import Struct


def moment(instant: datetime) -> str:
    """An aware instant as bodies write it: ``2026-11-20T12:00:00.000000+00:00``, always with microseconds, in UTC."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")


class FieldValue(Struct, frozen=True):
    """What an account entered in one public custom field; *value* is text or a boolean."""

    field_id: int
    name: str
    value: Any


class Solved(Struct, frozen=True):
    """The challenge that an event is about; *value* is in points."""

    id: int
    name: str
    category: str | None
    value: int | None


class Named(Struct, frozen=True):
    """A user or a team."""

    id: int
    name: str


class King(Struct, frozen=True):
    """The account that holds a hill; *type* is ``user`` or ``team``."""

    id: int
    name: str
    type: str


class Event(Struct, frozen=True):
    """Something that happened. Its fields are the body, in this order."""

    NAME: ClassVar[str]

    def body(self) -> bytes:
        """The bytes that are kept, signed and sent."""
        return msgspec.json.encode(self)


class UserCreated(Event, frozen=True):
    """A user was created, by sign-up, an admin, the API or a CSV."""

    NAME: ClassVar[str] = "user.created"

    country: str | None
    website: str | None
    oauth_id: int | None
    name: str
    id: int
    fields: tuple[FieldValue, ...]
    team_id: int | None
    affiliation: str | None
    bracket: str | None


class TeamCreated(Event, frozen=True):
    """A team was created, by any way; *members* are user ids."""

    NAME: ClassVar[str] = "team.created"

    country: str | None
    website: str | None
    oauth_id: int | None
    name: str
    id: int
    fields: tuple[FieldValue, ...]
    captain_id: int | None
    members: tuple[int, ...]
    affiliation: str | None
    bracket: str | None


class SolveCreated(Event, frozen=True):
    """A challenge was solved; *date* is written by :func:`moment`."""

    NAME: ClassVar[str] = "solve.created"

    id: int
    challenge_id: int
    challenge: Solved | None
    team: Named | None
    user: Named | None
    date: str
    type: str = "correct"


class FirstBloodCreated(SolveCreated, frozen=True):
    """The first solve of a challenge by an account that is neither hidden nor banned."""

    NAME: ClassVar[str] = "first_blood.created"

    @classmethod
    def of(cls, solve: SolveCreated) -> FirstBloodCreated:
        """The first blood that *solve* is: the same body under another name."""
        return cls(solve.id, solve.challenge_id, solve.challenge, solve.team, solve.user, solve.date, solve.type)


class KingChanged(Event, frozen=True):
    """A hill changed hands; nobody holds it where *king* is null. *since* is written by :func:`moment`."""

    NAME: ClassVar[str] = "koth.king_changed"

    challenge_id: int
    challenge: Solved | None
    king: King | None
    previous: King | None
    since: str


class Ping(Event, frozen=True):
    """What an admin sends to try an endpoint; it is not kept and nobody subscribes to it."""

    NAME: ClassVar[str] = "ping"

    endpoint_id: int
    date: str


#: What an endpoint may ask for.
EVENTS: Final[tuple[type[Event], ...]] = (UserCreated, TeamCreated, SolveCreated, FirstBloodCreated, KingChanged)
EVENT_NAMES: Final = tuple(event.NAME for event in EVENTS)

_SOLVE: Final = SolveCreated(
    id=17,
    challenge_id=4,
    challenge=Solved(id=4, name="Warmup", category="web", value=100),
    team=Named(id=2, name="Lockpickers"),
    user=Named(id=7, name="ada"),
    date="2026-11-20T12:00:00.000000+00:00",
)
#: One of each, in the order of :data:`EVENTS`.
EXAMPLES: Final[tuple[Event, ...]] = (
    UserCreated(
        country="GB",
        website="https://example.com/ada",
        oauth_id=None,
        name="ada",
        id=7,
        fields=(FieldValue(field_id=1, name="Shirt size", value="M"),),
        team_id=None,
        affiliation="Analytical Society",
        bracket="Students",
    ),
    TeamCreated(
        country=None,
        website=None,
        oauth_id=None,
        name="Lockpickers",
        id=2,
        fields=(),
        captain_id=7,
        members=(7,),
        affiliation=None,
        bracket=None,
    ),
    _SOLVE,
    FirstBloodCreated.of(_SOLVE),
    KingChanged(
        challenge_id=9,
        challenge=Solved(id=9, name="The Hill", category="koth", value=10),
        king=King(id=2, name="Lockpickers", type="team"),
        previous=None,
        since="2026-11-20T12:05:00.000000+00:00",
    ),
)
