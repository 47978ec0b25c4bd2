"""Deleting users and teams with everything that is theirs (database.md section 5).

The steps are taken one by one although the schema would cascade most of them: SQLite files made by older releases of
CTFd lack the rules, and would keep rows of somebody whose id is given to the next newcomer.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Table, delete, select, update

from ctfd_twisted.accounts.sessions_tables import sessions, token_uses
from ctfd_twisted.accounts.tables import audience_members, field_entries, teams, tokens, tracking, users
from ctfd_twisted.challenges.tables import ratings
from ctfd_twisted.content.tables import comments, notifications
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.scoring.store import recompute_values
from ctfd_twisted.scoring.tables import awards, solves, submissions, unlocks

#: What a user did in the competition; it also goes when an administrator takes them out of their team.
_DEEDS: Final = (awards, unlocks, solves, submissions)
_OF_A_USER: Final = (notifications, *_DEEDS, tracking, ratings, field_entries, comments, audience_members, sessions)
_OF_A_TEAM: Final = (notifications, *_DEEDS, field_entries, comments, audience_members)


def delete_user(conn: Connection, actor_id: int, user_id: int) -> None:
    """Delete a user with all that is theirs; their team stays, without a captain if they were it.

    An unknown id is no error. Raises ``Invalid`` where administrators would delete themselves.
    """
    if user_id == actor_id:
        raise Invalid(id="You cannot delete yourself")
    team_id = conn.scalar(select(users.c.team_id).where(users.c.id == user_id))
    # Teams before their members, as whoever joins or is taken out of one locks them.
    theirs = select(teams.c.id).where((teams.c.id == team_id) | (teams.c.captain_id == user_id)).order_by(teams.c.id)
    conn.execute(locked(theirs, conn))
    conn.execute(locked(select(users.c.id).where(users.c.id == user_id), conn))
    _forget(conn, _OF_A_USER, "user_id", user_id)
    conn.execute(delete(comments).where(comments.c.author_id == user_id))
    mine = select(tokens.c.id).where(tokens.c.user_id == user_id)
    conn.execute(delete(token_uses).where(token_uses.c.token_id.in_(mine)))
    conn.execute(delete(tokens).where(tokens.c.user_id == user_id))
    conn.execute(update(teams).where(teams.c.captain_id == user_id).values(captain_id=None))
    if conn.execute(delete(users).where(users.c.id == user_id)).rowcount:
        touch(conn, "accounts", "tokens", "sessions", f"user:{user_id}")
        if team_id is not None:
            touch(conn, f"team:{team_id}")
        recompute_values(conn)


def delete_team(conn: Connection, team_id: int) -> None:
    """Delete a team with all that is its own; its members stay, without a team. Raises ``NotFound``."""
    if conn.execute(locked(select(teams.c.id).where(teams.c.id == team_id), conn)).first() is None:
        raise NotFound
    members = conn.scalars(select(users.c.id).where(users.c.team_id == team_id)).all()
    conn.execute(update(users).where(users.c.team_id == team_id).values(team_id=None))
    _forget(conn, _OF_A_TEAM, "team_id", team_id)
    conn.execute(delete(teams).where(teams.c.id == team_id))
    touch(conn, "accounts", f"team:{team_id}", *(f"user:{member}" for member in members))
    recompute_values(conn)


def forget_deeds(conn: Connection, user_id: int) -> None:
    """Delete all submissions, awards and unlocks of a user who is taken out of their team."""
    _forget(conn, _DEEDS, "user_id", user_id)
    recompute_values(conn)


def _forget(conn: Connection, tables: tuple[Table, ...], column: str, account_id: int) -> None:
    for table in tables:
        conn.execute(delete(table).where(table.c[column] == account_id))
