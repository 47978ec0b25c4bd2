"""Users, teams and what they did as JSON shows them: which field is for whom (api/users.md, teams.md, submissions.md).

Every answer about an account is made here, so that no list, profile or search can show a field that another would not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ctfd_twisted.accounts.history import Award, Deed
from ctfd_twisted.accounts.records import Entry, TeamRecord, UserRecord
from ctfd_twisted.http.dates import iso

#: Who looks: anybody, the account itself, an administrator.
View = Literal["user", "self", "admin"]


def user_view(user: UserRecord, view: View) -> dict[str, Any]:
    """Return a user as *view* sees them; who is hidden or banned is no matter here."""
    shown: dict[str, Any] = {
        "id": user.id,
        # A team that the public may not know of is not named by its members either.
        "team_id": user.team_id if user.team_listed or view != "user" else None,
        "bracket_id": user.bracket_id,
        "oauth_id": user.oauth_id,
        "name": user.name,
        "website": user.website,
        "country": user.country,
        "affiliation": user.affiliation,
        "fields": entries_view(user.fields, view),
    }
    if view != "user":
        shown |= {"email": user.email, "language": user.language}
    if view == "admin":
        shown |= {
            "type": user.type,
            "banned": user.banned,
            "hidden": user.hidden,
            "verified": user.verified,
            "change_password": user.change_password,
            "secret": user.secret,
            "created": iso(user.created),
        }
    return shown


def team_view(team: TeamRecord, view: View) -> dict[str, Any]:
    """Return a team as *view* sees it; the public is not told of hidden and banned members."""
    members = team.listed_members if view == "user" else team.members
    shown: dict[str, Any] = {
        "id": team.id,
        "name": team.name,
        "website": team.website,
        "country": team.country,
        "affiliation": team.affiliation,
        "bracket_id": team.bracket_id,
        "oauth_id": team.oauth_id,
        "captain_id": team.captain_id if view != "user" or team.captain_id in members else None,
        "fields": entries_view(team.fields, view),
        "members": list(members),
    }
    if view != "user":
        shown["email"] = team.email
    if view == "admin":
        shown |= {"banned": team.banned, "hidden": team.hidden, "secret": team.secret, "created": iso(team.created)}
    return shown


def entries_view(entries: Iterable[Entry], view: View) -> list[dict[str, Any]]:
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


def deed_view(deed: Deed, view: View) -> dict[str, Any]:
    """Return a submission as *view* sees it."""
    shown: dict[str, Any] = {
        "id": deed.id,
        "challenge_id": deed.challenge_id,
        "challenge": deed.challenge,
        "user": deed.user,
        "team": deed.team,
        "date": iso(deed.date),
        "type": deed.type,
    }
    if view != "user":
        shown["provided"] = deed.provided
    if view == "admin":
        shown["ip"] = deed.ip
    return shown


def award_view(award: Award, *, requirements: bool, type: bool) -> dict[str, Any]:
    """Return an award; administrators see the *requirements*, and the lists of teams the *type*."""
    shown: dict[str, Any] = {
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
    if type:
        shown["type"] = award.type
    if requirements:
        shown["requirements"] = award.requirements
    return shown
