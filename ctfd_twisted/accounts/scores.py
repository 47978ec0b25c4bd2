"""Profiles with scores."""

from __future__ import annotations

from sqlalchemy import Connection

from ctfd_twisted.accounts.profiles import show_team, show_user
from ctfd_twisted.accounts.records import TeamRecord, UserRecord
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.store import team_score, user_score


def user_profile(conn: Connection, competition: Competition, user_id: int, *, everyone: bool) -> tuple[UserRecord, int]:
    """Return a user and the frozen score of their account: of their team where teams play and they have one.

    Unless *everyone*: a team that the public may not know of counts as none, and ``NotFound`` is raised for somebody
    hidden or banned as for somebody unknown.
    """
    user = show_user(conn, user_id, everyone=everyone)
    if competition.teams and user.team_id is not None and (everyone or user.team_listed):
        return user, team_score(conn, competition, user.team_id, frozen=True)
    return user, user_score(conn, competition, user.id, frozen=True)


def own_profile(conn: Connection, competition: Competition, user_id: int) -> tuple[UserRecord, int]:
    """Return a user and their own score as it is now, whatever the public knows; raises ``NotFound``."""
    return show_user(conn, user_id, everyone=True), user_score(conn, competition, user_id, frozen=False)


def team_profile(
    conn: Connection, competition: Competition, team_id: int, *, everyone: bool, frozen: bool
) -> tuple[TeamRecord, int]:
    """Return a team and its score, *frozen* or as it is now; raises ``NotFound`` as ``user_profile`` does."""
    team = show_team(conn, team_id, everyone=everyone)
    return team, team_score(conn, competition, team_id, frozen=frozen)
