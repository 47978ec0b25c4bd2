"""Users and teams as transactions give them out: whole, frozen, before any view has taken fields away."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")

#: Whose custom fields: ``fields.type`` and ``field_entries.type``.
Owner = Literal["user", "team"]
#: ``users.type``.
UserType = Literal["user", "admin"]


class Entry(msgspec.Struct, frozen=True):
    """One answered custom field; ``type`` is the field's ``field_type`` (``text`` or ``boolean``)."""

    field_id: int
    value: Any
    name: str
    description: str
    type: str
    public: bool
    editable: bool


class UserRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of ``users`` without its password, and its custom fields in the order of their ids.

    ``team_listed``: the public may know of the user's team.
    """

    id: int
    oauth_id: int | None
    name: str | None
    email: str | None
    type: UserType
    secret: str | None
    website: str | None
    affiliation: str | None
    country: str | None
    bracket_id: int | None
    hidden: bool
    banned: bool
    verified: bool
    language: str | None
    change_password: bool
    team_id: int | None
    created: datetime | None
    team_listed: bool = False
    fields: tuple[Entry, ...] = ()

    @property
    def listed(self) -> bool:
        """Whether the public may know of this user."""
        return not (self.hidden or self.banned)


class TeamRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of ``teams`` without its password, its custom fields, and its members' ids in ascending order.

    ``listed_members`` are those of them that the public may know of.
    """

    id: int
    oauth_id: int | None
    name: str | None
    email: str | None
    secret: str | None
    website: str | None
    affiliation: str | None
    country: str | None
    bracket_id: int | None
    hidden: bool
    banned: bool
    captain_id: int | None
    created: datetime | None
    fields: tuple[Entry, ...] = ()
    members: tuple[int, ...] = ()
    listed_members: tuple[int, ...] = ()

    @property
    def listed(self) -> bool:
        """Whether the public may know of this team."""
        return not (self.hidden or self.banned)


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, and how many there are in all."""

    items: tuple[T, ...]
    total: int
