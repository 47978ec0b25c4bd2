"""One person as every feature sees them, out of the database."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Row, Select, bindparam, select

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import teams, users

_COLUMNS: Final = (
    *users.c[
        "id", "name", "email", "type", "team_id", "banned", "hidden", "verified", "change_password", "language",
        "oauth_id", "bracket_id", "password",
    ],
    teams.c.name.label("team_name"),
    teams.c.banned.label("team_banned"),
    teams.c.hidden.label("team_hidden"),
)  # fmt: skip
_WITH_TEAM: Final = users.outerjoin(teams, teams.c.id == users.c.team_id)


def players(*further: Any) -> Select[Any]:
    """A statement whose rows :func:`player_of` reads, with *further* columns, whose tables are still to be joined."""
    return select(*_COLUMNS, *further).select_from(_WITH_TEAM)


_PLAYER: Final = players().where(users.c.id == bindparam("user_id"))


def player_of(row: Row[Any], keys: Keys | None = None) -> Player:
    """Return the player of a row; ``session_hash`` is filled where *keys* are given."""
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


def load_player(conn: Connection, user_id: int, keys: Keys | None = None) -> Player | None:
    """Return the player *user_id* with their team, or ``None``; ``session_hash`` is filled where *keys* are given."""
    row = conn.execute(_PLAYER, {"user_id": user_id}).first()
    return None if row is None else player_of(row, keys)
