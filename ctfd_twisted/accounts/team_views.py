"""Teams as JSON shows them: which field is for whom (api/teams.md)."""

from __future__ import annotations

from typing import TypedDict, cast

from ctfd_twisted.accounts.records import TeamRecord
from ctfd_twisted.accounts.views import AnswerShown, Ranking, View, answers_shown
from ctfd_twisted.http.dates import iso


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
        "fields": answers_shown(team.fields, view),
    }


def _secrets(team: TeamRecord) -> TeamSecrets:
    return {
        "email": team.email,
        "banned": team.banned,
        "hidden": team.hidden,
        "secret": team.secret,
        "created": iso(team.created),
    }
