"""What a link says that a player shares: who has solved which challenge, as far as the public may know."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, func, select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.asking import Account, reach_of
from ctfd_twisted.challenges.rules import Reach
from ctfd_twisted.challenges.tables import challenges, files
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import NotFound
from ctfd_twisted.scoring.accounts import TEAMS, USERS, account_kind
from ctfd_twisted.scoring.tables import solves, submissions

#: The kinds of files that everybody may have.
_PUBLIC: Final = ("standard", "page")


class Logo(msgspec.Struct, frozen=True):
    """Where the competition's logo is, and what is there: its SHA-1 in hex, if that is known."""

    location: str
    sha1: str | None


class SharedSolve(msgspec.Struct, frozen=True):
    """Who solved it; ``team_name`` is empty where single users play."""

    user_name: str
    team_name: str
    challenge_name: str

    @property
    def account_name(self) -> str:
        """The name of who scores."""
        return self.team_name or self.user_name


def read_shared_solve(
    conn: Connection, now: datetime, competition: Competition, user_id: int, challenge_id: int
) -> SharedSolve:
    """The solve of a player's account.

    Raises ``NotFound`` where the public may not know of the player or their team, where the account may not see the
    challenge, and where it has not solved it before the freeze: anybody can have a link made for any challenge.
    """
    account = _account(conn, competition, user_id)
    challenge = conn.execute(select(challenges).where(challenges.c.id == challenge_id)).first()
    if challenge is None or reach_of(conn, now, account, challenge) is not Reach.OPEN:
        raise NotFound
    mine = account_kind(teams_mode=competition.teams).of(solves) == account.id
    solved = select(submissions.c.date).join(solves, solves.c.id == submissions.c.id)
    date = conn.execute(solved.where(mine, solves.c.challenge_id == challenge_id)).scalar()
    freeze = competition.frozen_at
    if date is None or (freeze is not None and date >= freeze):
        raise NotFound
    return SharedSolve(account.user_name, account.team_name, challenge.name or "")


def read_logo(conn: Connection, location: str) -> Logo | None:
    """The logo at *location*, if a file is there that everybody may have."""
    kind = func.coalesce(files.c.type, "standard")
    row = conn.execute(
        select(files.c.sha1sum).where(files.c.location == location, kind.in_(_PUBLIC)).order_by(files.c.id)
    ).first()
    return None if row is None else Logo(location, row.sha1sum)


def _account(conn: Connection, competition: Competition, user_id: int) -> Account:
    user = conn.execute(select(users).where(users.c.id == user_id, USERS.listed)).first()
    if user is None:
        raise NotFound
    if not competition.teams:
        return Account(user_id, user.name or "", None, "", listed=True)
    team = conn.execute(select(TEAMS.table).where(TEAMS.table.c.id == user.team_id, TEAMS.listed)).first()
    if team is None:
        raise NotFound
    return Account(user_id, user.name or "", team.id, team.name or "", listed=True)
