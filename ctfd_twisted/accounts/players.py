"""One person as every feature sees them, out of the database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, select

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import teams, users

_PLAYER: Final = (
    select(
        users, teams.c.name.label("team_name"), teams.c.banned.label("team_banned"), teams.c.hidden.label("team_hidden")
    )
    .outerjoin(teams, teams.c.id == users.c.team_id)
    .where(users.c.id == bindparam("user_id"))
)


def load_player(conn: Connection, user_id: int, keys: Keys | None = None) -> Player | None:
    """Return the player *user_id* with their team, or ``None``; ``session_hash`` is filled where *keys* are given."""
    row = conn.execute(_PLAYER, {"user_id": user_id}).first()
    if row is None:
        return None
    return Player(
        id=row.id,
        name=row.name or "",
        email=row.email,
        is_admin=row.type == "admin",
        team_id=row.team_id,
        banned=bool(row.banned),
        hidden=bool(row.hidden),
        verified=bool(row.verified),
        change_password=bool(row.change_password),
        language=row.language,
        oauth_id=row.oauth_id,
        bracket_id=row.bracket_id,
        team_name=row.team_name,
        team_banned=bool(row.team_banned),
        team_hidden=bool(row.team_hidden),
        session_hash="" if keys is None else keys.password_mac(row.password),
    )
