"""Users and teams as JSON shows them: which field is for whom (api/users.md, teams.md).

Every answer about an account is made here, so that no list, profile or search can show a field that another would not.
What may lack keys is cast from the type without them: mypy can't know that a ``TypedDict`` holds no more than it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, cast

from ctfd_twisted.accounts.records import Entry, TeamRecord, UserRecord, UserType
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


class TeamBasics(TypedDict):
    """What everybody sees of a team; ``captain_id`` is null where the captain is hidden from who asks."""

    id: int
    name: str | None
    website: str | None
    country: str | None
    affiliation: str | None
    bracket_id: int | None
    oauth_id: int | None
    captain_id: int | None
    fields: list[AnswerShown]


class TeamSecrets(TypedDict):
    """What administrators alone are shown of teams."""

    email: str | None
    banned: bool
    hidden: bool
    secret: str | None
    created: str | None


class PerhapsTeamSecrets(TypedDict, total=False):
    """The same where others than administrators ask too."""

    email: str | None
    banned: bool
    hidden: bool
    secret: str | None
    created: str | None


class TeamListed(TeamBasics, PerhapsTeamSecrets):
    """A team in the list. What may lack is for administrators alone."""


class TeamProfile(TeamBasics, PerhapsTeamSecrets, Ranking):
    """A team with its members' ids, its place and score. What may lack is for administrators alone."""

    members: list[int]


class OwnTeam(TeamBasics):
    """A team as its members see it, with their ids."""

    members: list[int]
    email: str | None


class OwnTeamProfile(OwnTeam):
    """A team as its members see it, with its place and its score as it is now."""

    place: str | None
    score: int


class TeamForAdmins(TeamBasics, TeamSecrets):
    """A team as administrators see it, with its members' ids."""

    members: list[int]


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


def team_listed(team: TeamRecord, *, to_admin: bool) -> TeamListed:
    """Return a team for a list, to an administrator or to anybody."""
    if to_admin:
        return {**_team(team, "admin"), **_secrets(team)}
    return cast("TeamListed", _team(team, "user"))


def own_team(team: TeamRecord) -> OwnTeam:
    """Return a team in the view of its members."""
    return {**_team(team, "self"), "members": list(team.members), "email": team.email}


def team_for_admins(team: TeamRecord) -> TeamForAdmins:
    """Return a team in the view of administrators."""
    return {**_team(team, "admin"), **_secrets(team), "members": list(team.members)}


def team_profile(team: TeamRecord, place: str | None, score: int | None, *, to_admin: bool) -> TeamProfile:
    """Return a team with *place* and *score*; the public is not told of hidden and banned members."""
    if to_admin:
        return {**team_for_admins(team), "place": place, "score": score}
    ranking: Ranking = {"place": place, "score": score}
    return cast("TeamProfile", {**_team(team, "user"), **ranking, "members": list(team.listed_members)})


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
        "fields": _answers(user.fields, view),
    }


def _team(team: TeamRecord, view: View) -> TeamBasics:
    return {
        "id": team.id,
        "name": team.name,
        "website": team.website,
        "country": team.country,
        "affiliation": team.affiliation,
        "bracket_id": team.bracket_id,
        "oauth_id": team.oauth_id,
        "captain_id": team.captain_id if view != "user" or team.captain_id in team.listed_members else None,
        "fields": _answers(team.fields, view),
    }


def _secrets(team: TeamRecord) -> TeamSecrets:
    return {
        "email": team.email,
        "banned": team.banned,
        "hidden": team.hidden,
        "secret": team.secret,
        "created": iso(team.created),
    }


def _answers(entries: Iterable[Entry], view: View) -> list[AnswerShown]:
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
