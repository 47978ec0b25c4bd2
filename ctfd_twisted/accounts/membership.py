"""Who is in which team: joining by password or invite, administrators' changes, disbanding."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Any, Final

import msgspec
from itsdangerous import BadSignature, SignatureExpired
from sqlalchemy import Connection, Select, or_, select, update

from ctfd_twisted.accounts.deletion import delete_team, forget_deeds
from ctfd_twisted.accounts.identity import caller_topic
from ctfd_twisted.accounts.keys import INVITE_SECONDS, Keys
from ctfd_twisted.accounts.newcomers import JOINED
from ctfd_twisted.accounts.profiles import member_ids
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.accounts.teams import own_team_id
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import Forbidden, Invalid, NotFound, Refused
from ctfd_twisted.scoring.news import tell_roster
from ctfd_twisted.scoring.tables import awards, submissions, unlocks

IN_A_TEAM: Final = "You are already in a team. You cannot join another."
INCORRECT: Final = "That information is incorrect"
PARTICIPATED: Final = (
    "You cannot disband your team as it has participated in the event. "
    "Please contact an admin to disband your team or remove a member."
)


class JoinableTeam(msgspec.Struct, frozen=True):
    """What is needed to let somebody into a team; ``password`` is the stored hash."""

    id: int
    name: str
    password: str | None


def find_team(conn: Connection, name: str) -> JoinableTeam | None:
    """Return the team of this name; hidden and banned ones can be joined too."""
    row = conn.execute(_teams().where(teams.c.name == name).order_by(teams.c.id)).first()
    return None if row is None else JoinableTeam(row.id, row.name or "", row.password)


def somebodys_hash(conn: Connection) -> str | None:
    """Return one team's password hash: an unknown team must take as long to refuse as a wrong password."""
    return conn.scalar(select(teams.c.password).where(teams.c.password.is_not(None)).order_by(teams.c.id).limit(1))


def read_invite(conn: Connection, now: datetime, keys: Keys, code: str) -> JoinableTeam:
    """Return the team that an invite leads to.

    Raises ``Forbidden`` with the text for the visitor where the invite is too old, or not of this team and password.
    """
    try:
        payload = keys.read_signed(now, code, INVITE_SECONDS)
    except SignatureExpired:
        raise Forbidden("This invite URL has expired") from None
    except BadSignature:
        raise Forbidden("This invite URL is invalid") from None
    team_id = payload.get("id") if isinstance(payload, dict) else None
    row = conn.execute(_teams().where(teams.c.id == team_id)).first() if isinstance(team_id, int) else None
    if row is None or not hmac.compare_digest(str(payload.get("v")), keys.team_mac(row.id, row.password)):
        raise Forbidden("This invite URL is invalid")
    return JoinableTeam(row.id, row.name or "", row.password)


def make_invite(conn: Connection, now: datetime, keys: Keys, team_id: int) -> str:
    """Return a code that lets its bearer into a team for a day, or until the team's password changes."""
    return _invite(now, keys, _team(conn, team_id, lock=False))


def make_own_invite(conn: Connection, now: datetime, keys: Keys, user_id: int) -> str:
    """Return such a code for the team that a user is captain of; raises ``Refused`` for who is not."""
    team = _team(conn, own_team_id(conn, user_id), lock=False)
    if team.captain_id != user_id:
        raise Refused({"": ["Only team captains can generate invite codes"]})
    return _invite(now, keys, team)


def join_team(
    conn: Connection, competition: Competition, team: JoinableTeam, user_id: int, *, becomes_captain: bool
) -> None:
    """Put a user into *team*, whose password or invite they have shown.

    *becomes_captain*: where the team has no members. Raises ``Forbidden`` for somebody in a team, ``Invalid`` where the
    team is full (limits hold under races: whoever joins locks the team's row first), and ``NotFound`` where the team's
    password has changed since it was shown.
    """
    present = _team(conn, team.id)
    if present.password != team.password:
        raise NotFound
    if _user(conn, user_id).team_id is not None:
        raise Forbidden(IN_A_TEAM)
    size = competition.integer("team_size", 0)
    members = member_ids(conn, team.id)
    if size > 0 and len(members) >= size:
        raise Invalid({"": [f"{team.name} has already reached the team size limit of {size}"]})
    if becomes_captain and not members:
        conn.execute(update(teams).where(teams.c.id == team.id).values(captain_id=user_id))
    put_in_team(conn, user_id, team.id)


def add_member(conn: Connection, team_id: int, user_id: int) -> tuple[int, ...]:
    """Put a user into a team as an administrator wants and return all members; no limit of size applies.

    What the user did before is not the team's. Raises ``NotFound``, and ``Invalid`` for somebody who is in a team.
    """
    _team(conn, team_id)
    if _user(conn, user_id).team_id is not None:
        raise Invalid(id=["User has already joined a team"])
    put_in_team(conn, user_id, team_id)
    return member_ids(conn, team_id)


def remove_member(conn: Connection, team_id: int, user_id: int) -> tuple[int, ...]:
    """Take a user out of a team with all they did, as an administrator wants, and return the remaining members.

    Captaincy stays where it is. Raises ``NotFound``, and ``Invalid`` for somebody who is not in this team.
    """
    _team(conn, team_id)
    if _user(conn, user_id).team_id != team_id:
        raise Invalid(id=["User is not part of this team"])
    conn.execute(update(users).where(users.c.id == user_id).values(team_id=None))
    forget_deeds(conn, user_id)
    touch(conn, "accounts", f"team:{team_id}", f"user:{user_id}")
    return member_ids(conn, team_id)


def disband_own_team(conn: Connection, competition: Competition, user_id: int) -> None:
    """Delete the team that a user is captain of, if nobody in it ever did anything; raises ``Refused`` otherwise."""
    if competition.text("team_disbanding", "inactive_only") == "disabled":
        raise Refused({"": ["Team disbanding is currently disabled"]})
    team = _team(conn, own_team_id(conn, user_id))
    if team.captain_id != user_id:
        raise Refused({"": ["Only team captains can disband their team"]})
    if _participated(conn, team.id):
        raise Refused({"": [PARTICIPATED]})
    delete_team(conn, team.id)


def put_in_team(conn: Connection, user_id: int, team_id: int) -> None:
    """Make a user, who is in no team, a member."""
    conn.execute(update(users).where(users.c.id == user_id).values(team_id=team_id))
    touch(conn, JOINED, caller_topic(user_id), f"team:{team_id}", f"user:{user_id}")
    tell_roster(conn, team_id)


def _participated(conn: Connection, team_id: int) -> bool:
    members = select(users.c.id).where(users.c.team_id == team_id)
    return any(
        conn.execute(
            select(table.c.id).where(or_(table.c.team_id == team_id, table.c.user_id.in_(members))).limit(1)
        ).first()
        for table in (submissions, awards, unlocks)
    )


def _teams() -> Select[Any]:
    return select(teams.c.id, teams.c.name, teams.c.password, teams.c.captain_id)


def _invite(now: datetime, keys: Keys, team: Any) -> str:
    return keys.sign(now, {"id": team.id, "v": keys.team_mac(team.id, team.password)})


def _team(conn: Connection, team_id: int, *, lock: bool = True) -> Any:
    statement = _teams().where(teams.c.id == team_id)
    row = conn.execute(locked(statement, conn) if lock else statement).first()
    if row is None:
        raise NotFound
    return row


def _user(conn: Connection, user_id: int) -> Any:
    row = conn.execute(locked(select(users.c.id, users.c.team_id).where(users.c.id == user_id), conn)).first()
    if row is None:
        raise NotFound
    return row
