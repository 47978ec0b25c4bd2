"""What accounts did as JSON shows it: which field is for whom (api/submissions.md, awards.md).

What may lack keys is cast from the type without them: mypy can't know that a ``TypedDict`` holds no more than it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict, cast

from ctfd_twisted.accounts.awards import Award
from ctfd_twisted.accounts.history import Deed, DeedType, NamedAccount, NamedChallenge
from ctfd_twisted.http.dates import iso


class DeedBasics(TypedDict):
    """A submission; ``challenge``, ``user`` and ``team`` are null where they are gone, or hidden from who asks."""

    id: int
    challenge_id: int | None
    challenge: NamedChallenge | None
    user: NamedAccount | None
    team: NamedAccount | None
    date: str | None
    type: DeedType | None


class DeedShown(DeedBasics):
    """A submission, of which administrators alone are shown what was ``provided`` and from which ``ip``."""

    provided: NotRequired[str | None]
    ip: NotRequired[str | None]


class OwnDeed(DeedBasics):
    """A submission as those who made it see it."""

    provided: str | None


class AwardBasics(TypedDict):
    """An award; ``user`` and ``team`` repeat the ids, which are null for who is hidden from who asks."""

    id: int
    user_id: int | None
    user: int | None
    team_id: int | None
    team: int | None
    name: str | None
    description: str | None
    date: str | None
    value: int | None
    category: str | None
    icon: str | None


class UserAward(AwardBasics):
    """An award of a user, of which administrators alone are shown the ``requirements``."""

    requirements: NotRequired[dict[str, Any] | None]


class TeamAward(AwardBasics):
    """An award of a team."""

    type: str | None
    requirements: dict[str, Any] | None


def deed_shown(deed: Deed, *, to_admin: bool) -> DeedShown:
    """Return a submission, to an administrator or to anybody."""
    if to_admin:
        return {**_deed(deed), "provided": deed.provided, "ip": deed.ip}
    return cast("DeedShown", _deed(deed))


def own_deed(deed: Deed) -> OwnDeed:
    """Return a submission to those who made it."""
    return {**_deed(deed), "provided": deed.provided}


def user_awards(awards: Iterable[Award], *, to_admin: bool) -> list[UserAward]:
    """Return a user's awards, to an administrator or to anybody."""
    if to_admin:
        return [{**_award(award), "requirements": award.requirements} for award in awards]
    return [cast("UserAward", _award(award)) for award in awards]


def team_awards(awards: Iterable[Award]) -> list[TeamAward]:
    """Return a team's awards, to anybody."""
    return [{**_award(award), "type": award.type, "requirements": award.requirements} for award in awards]


def _deed(deed: Deed) -> DeedBasics:
    return {
        "id": deed.id,
        "challenge_id": deed.challenge_id,
        "challenge": deed.challenge,
        "user": deed.user,
        "team": deed.team,
        "date": iso(deed.date),
        "type": deed.type,
    }


def _award(award: Award) -> AwardBasics:
    return {
        "id": award.id,
        "user_id": award.user_id,
        "user": award.user_id,
        "team_id": award.team_id,
        "team": award.team_id,
        "name": award.name,
        "description": award.description,
        "date": iso(award.date),
        "value": award.value,
        "category": award.category,
        "icon": award.icon,
    }
