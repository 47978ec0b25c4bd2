"""Rows with defaults, so that a test names only what it is about: ``a_challenge(conn, value=500)``."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge, flags, hints
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import awards, solves, submissions

LONG_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
_numbers = count(1)


def a_user(conn: Connection, **columns: Any) -> int:
    """A verified player whom everybody sees; their id."""
    number = next(_numbers)
    values = {
        "name": f"player {number}",
        "email": f"player{number}@example.org",
        "type": "user",
        "verified": True,
        "hidden": False,
        "banned": False,
        "change_password": False,
        "created": LONG_AGO,
    }
    return insert_row(conn, users, {**values, **columns})


def an_admin(conn: Connection, **columns: Any) -> int:
    """An administrator, hidden as the one of the setup is; their id."""
    return a_user(conn, **{"type": "admin", "hidden": True, **columns})


def a_team(conn: Connection, **columns: Any) -> int:
    """A team without members; its id."""
    number = next(_numbers)
    values = {"name": f"team {number}", "hidden": False, "banned": False, "created": LONG_AGO}
    return insert_row(conn, teams, {**values, **columns})


def a_challenge(conn: Connection, **columns: Any) -> int:
    """A visible standard challenge of 100 points; its id.

    ``dynamic={...}`` makes it a dynamic one with those settings.
    """
    number = next(_numbers)
    dynamic: dict[str, Any] | None = columns.pop("dynamic", None)
    values = {
        "name": f"challenge {number}",
        "category": "misc",
        "value": 100,
        "type": "standard" if dynamic is None else "dynamic",
        "state": "visible",
        "max_attempts": 0,
        "logic": "any",
        "position": 0,
        "function": "static",
    }
    challenge_id = insert_row(conn, challenges, {**values, **columns})
    if dynamic is not None:
        settings = {"initial": 500, "minimum": 100, "decay": 10, "function": "logarithmic", **dynamic}
        renamed = {f"dynamic_{name}": value for name, value in settings.items()}
        conn.execute(dynamic_challenge.insert().values(id=challenge_id, **renamed))
    return challenge_id


def a_flag(conn: Connection, challenge_id: int, content: str = "flag{right}", **columns: Any) -> int:
    """A static flag; its id."""
    return insert_row(
        conn, flags, {"challenge_id": challenge_id, "type": "static", "content": content, "data": "", **columns}
    )


def a_hint(conn: Connection, challenge_id: int, **columns: Any) -> int:
    """A free hint; its id."""
    values = {"challenge_id": challenge_id, "type": "standard", "content": "Look closer.", "cost": 0}
    return insert_row(conn, hints, {**values, **columns})


def a_submission(conn: Connection, challenge_id: int, user_id: int, **columns: Any) -> int:
    """A wrong answer; its id."""
    values = {
        "challenge_id": challenge_id,
        "user_id": user_id,
        "team_id": None,
        "ip": "203.0.113.7",
        "provided": "flag{wrong}",
        "type": "incorrect",
        "date": LONG_AGO,
    }
    return insert_row(conn, submissions, {**values, **columns})


def a_solve(conn: Connection, challenge_id: int, user_id: int, **columns: Any) -> int:
    """A right answer with its solve; their common id."""
    values = {"type": "correct", "provided": "flag{right}", **columns}
    solve_id = a_submission(conn, challenge_id, user_id, **values)
    team_id = columns.get("team_id")
    conn.execute(solves.insert().values(id=solve_id, challenge_id=challenge_id, user_id=user_id, team_id=team_id))
    return solve_id


def an_award(conn: Connection, user_id: int | None, value: int = 50, **columns: Any) -> int:
    """Points that are not from a solve; the award's id."""
    values = {
        "user_id": user_id,
        "team_id": None,
        "type": "standard",
        "name": "award",
        "value": value,
        "date": LONG_AGO,
    }
    return insert_row(conn, awards, {**values, **columns})
