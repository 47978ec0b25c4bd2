"""Signing in somebody whom MajorLeagueCyber knows: which account is theirs, or a new one, and their team's."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, case, delete, select, update

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.membership import put_in_team
from ctfd_twisted.accounts.newcomers import insert_team, insert_user, name_taken, tell_team_created, tell_user_created
from ctfd_twisted.accounts.oauth_rules import Profile, Team, Turned, name_for
from ctfd_twisted.accounts.profiles import member_ids
from ctfd_twisted.accounts.sessions import Entrance, end_sessions, open_session
from ctfd_twisted.accounts.sessions_tables import token_uses
from ctfd_twisted.accounts.signup import check_number_of_teams, check_room_for_user, valid_email
from ctfd_twisted.accounts.tables import teams, tokens, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked

_USERS: Final = select(*users.c["id", "name", "email", "type", "verified", "password", "oauth_id", "team_id"])


class Arrival(msgspec.Struct, frozen=True):
    """Who is signed in now, and whether they are ``new`` here or ``linked`` to an account that was here before."""

    user_id: int
    name: str
    new: bool
    linked: bool


def arrive(
    conn: Connection,
    now: datetime,
    keys: Keys,
    competition: Competition,
    profile: Profile,
    entrance: Entrance,
    signed_in: int | None,
) -> Arrival:
    """Sign in who *profile* is about, into an account that is made where there is none; nothing stays half done.

    *signed_in* is who was signed in before. Raises ``Turned``, and ``Forbidden`` where the competition takes no more
    users or teams. Two first arrivals of one person make one account: the second waits for the first.
    """
    serialise(conn, "users")
    if competition.teams:
        serialise(conn, "teams")
    found = _account_of(conn, profile)
    linked = found is not None and found.oauth_id is None
    if found is None:
        user_id = _new_user(conn, now, competition, profile)
    else:
        user_id = found.id
        if found.type == "admin":
            raise Turned("admin")
        if linked:
            _link(conn, found, profile.id, keeps_password=found.verified or found.id == signed_in)
    new_team = _into_team(conn, now, competition, user_id, profile.team) if competition.teams else None
    person = conn.execute(_USERS.where(users.c.id == user_id)).one()
    open_session(conn, now, user_id, msgspec.structs.replace(entrance, password_mac=keys.password_mac(person.password)))
    if found is None:
        tell_user_created(conn, now, user_id)
    if new_team is not None:
        tell_team_created(conn, now, new_team)
    return Arrival(user_id, person.name or "", new=found is None, linked=linked)


def _account_of(conn: Connection, profile: Profile) -> Any | None:
    """Return the account of *profile*: by its id, else by its address, which must be shown to be theirs."""
    known = conn.execute(_USERS.where(users.c.oauth_id == profile.id)).first()
    if known is not None:
        return known
    if not profile.verified or not valid_email(profile.email):
        raise Turned("unverified")
    exact = case((users.c.email == profile.email, 0), else_=1)
    same = users.c.email.in_((profile.email, profile.email.lower()))
    known = conn.execute(_USERS.where(same).order_by(exact, users.c.id)).first()
    if known is not None and known.oauth_id is not None:
        raise Turned("taken")
    return known


def _new_user(conn: Connection, now: datetime, competition: Competition, profile: Profile) -> int:
    check_room_for_user(conn, competition)
    if competition.registration_visibility not in {"public", "mlc"}:
        raise Turned("closed")
    email = profile.email.lower()
    if rules.domain_refusals(email, competition.text("domain_whitelist"), competition.text("domain_blacklist")):
        raise Turned("domain")
    name = name_for(profile.name, f"player {profile.id}", partial(name_taken, conn, users))
    return insert_user(conn, now, name=name, email=email, oauth_id=profile.id, verified=True)


def _link(conn: Connection, found: Any, oauth_id: int, *, keeps_password: bool) -> None:
    """Make an account that was here before the provider's user's.

    Whoever signed up with an address that they never confirmed may have waited for its owner to come: unless
    *keeps_password*, all they could come back by ends.
    """
    values: dict[str, Any] = {"oauth_id": oauth_id, "verified": True}
    if not keeps_password:
        values |= {"password": None, "change_password": False}
        end_sessions(conn, found.id)
        mine = select(tokens.c.id).where(tokens.c.user_id == found.id)
        conn.execute(delete(token_uses).where(token_uses.c.token_id.in_(mine)))
        conn.execute(delete(tokens).where(tokens.c.user_id == found.id))
        touch(conn, "tokens")
    conn.execute(update(users).where(users.c.id == found.id).values(**values))
    touch(conn, "accounts", f"user:{found.id}")


def _into_team(
    conn: Connection, now: datetime, competition: Competition, user_id: int, wanted: Team | None
) -> int | None:
    """Put a user who is in no team into the provider's; return the team's id if it had to be made."""
    if wanted is None:
        return None
    team_id = conn.scalar(locked(select(teams.c.id).where(teams.c.oauth_id == wanted.id), conn))
    if conn.scalar(locked(select(users.c.team_id).where(users.c.id == user_id), conn)) is not None:
        return None
    if team_id is None:
        check_number_of_teams(conn, competition)
        name = name_for(wanted.name, f"team {wanted.id}", partial(name_taken, conn, teams))
        made = insert_team(conn, now, name=name, oauth_id=wanted.id, captain_id=user_id)
        put_in_team(conn, user_id, made)
        return made
    size, members = competition.integer("team_size", 0), member_ids(conn, team_id)
    if 0 < size <= len(members):
        raise Turned("full")
    if not members:
        conn.execute(update(teams).where(teams.c.id == team_id).values(captain_id=user_id))
    put_in_team(conn, user_id, team_id)
    return None
