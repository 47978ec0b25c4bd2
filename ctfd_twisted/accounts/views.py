"""Users as JSON shows them: which field is for whom (api/users.md).

Every answer about an account is made here and in ``team_views``, so that no list, profile or search can show a field
that another would not. What may lack keys is cast from the type without them: mypy can't know that a ``TypedDict``
holds no more than it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, cast

from ctfd_twisted.accounts.records import Entry, UserRecord, UserType
from ctfd_twisted.http.dates import iso

#: Who looks: anybody, the account itself, an administrator.
View = Literal["user", "self", "admin"]


class AnswerShown(TypedDict):
    """What an account answered to a custom field; ``type`` is the kind of answer, ``text`` or ``boolean``."""

    field_id: int
    value: Any
    name: str
    description: str
    type: str


class UserShown(TypedDict):
    """A user as everybody sees them; ``team_id`` is null where the team is hidden from who asks."""

    id: int
    team_id: int | None
    bracket_id: int | None
    oauth_id: int | None
    name: str | None
    website: str | None
    country: str | None
    affiliation: str | None
    fields: list[AnswerShown]


class OwnUser(UserShown):
    """A user as they see themselves."""

    email: str | None
    language: str | None


class UserForAdmins(OwnUser):
    """A user as administrators see them."""

    type: UserType
    banned: bool
    hidden: bool
    verified: bool
    change_password: bool
    secret: str | None
    created: str | None


class Ranking(TypedDict):
    """Where an account stands; ``place`` is null for who stands nowhere, both where scores are not shown."""

    place: str | None
    score: int | None


class UserProfile(UserShown, Ranking, total=False):
    """A user with the place and score of their account. What may lack is for administrators alone."""

    email: str | None
    language: str | None
    type: UserType
    banned: bool
    hidden: bool
    verified: bool
    change_password: bool
    secret: str | None
    created: str | None


class OwnProfile(OwnUser):
    """A user as they see themselves, with their place among users and their own score as it is now."""

    place: str | None
    score: int


def user_shown(user: UserRecord, *, to_admin: bool) -> UserShown:
    """Return a user in the public view; an administrator is told of hidden teams too."""
    return _user(user, "user", team_id=user.team_id if user.team_listed or to_admin else None)


def own_user(user: UserRecord) -> OwnUser:
    """Return a user in their own view."""
    return {**_user(user, "self", team_id=user.team_id), "email": user.email, "language": user.language}


def user_for_admins(user: UserRecord) -> UserForAdmins:
    """Return a user in the view of administrators."""
    return {
        **_user(user, "admin", team_id=user.team_id),
        "email": user.email,
        "language": user.language,
        "type": user.type,
        "banned": user.banned,
        "hidden": user.hidden,
        "verified": user.verified,
        "change_password": user.change_password,
        "secret": user.secret,
        "created": iso(user.created),
    }


def user_profile(user: UserRecord, place: str | None, score: int | None, *, to_admin: bool) -> UserProfile:
    """Return a user with *place* and *score*, to an administrator or to anybody."""
    if to_admin:
        return {**user_for_admins(user), "place": place, "score": score}
    ranking: Ranking = {"place": place, "score": score}
    return cast("UserProfile", {**user_shown(user, to_admin=False), **ranking})


def answers_shown(entries: Iterable[Entry], view: View) -> list[AnswerShown]:
    """Return the answers to custom fields that *view* may see."""
    return [
        {
            "field_id": entry.field_id,
            "value": entry.value,
            "name": entry.name,
            "description": entry.description,
            "type": entry.type,
        }
        for entry in entries
        if entry.public or view == "admin" or (view == "self" and entry.editable)
    ]


def _user(user: UserRecord, view: View, *, team_id: int | None) -> UserShown:
    return {
        "id": user.id,
        "team_id": team_id,
        "bracket_id": user.bracket_id,
        "oauth_id": user.oauth_id,
        "name": user.name,
        "website": user.website,
        "country": user.country,
        "affiliation": user.affiliation,
        "fields": answers_shown(user.fields, view),
    }
