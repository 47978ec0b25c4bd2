"""The rows of files."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import files, solutions
from ctfd_twisted.errors import NotFound


class Found(msgspec.Struct, frozen=True):
    """A file's row as a download needs it; ``challenge_id`` also where it belongs to that challenge's solution."""

    id: int
    type: str
    challenge_id: int | None


def find_file(conn: Connection, location: str) -> Found:
    """The file at exactly *location*; raises ``NotFound``."""
    row = conn.execute(
        select(files.c.id, files.c.type, files.c.challenge_id, solutions.c.challenge_id.label("solved_by"))
        .outerjoin(solutions, solutions.c.id == files.c.solution_id)
        .where(files.c.location == location)
        .order_by(files.c.id)
        .limit(1)
    ).first()
    if row is None:
        raise NotFound
    kind = row.type or "standard"
    return Found(row.id, kind, row.solved_by if kind == "solution" else row.challenge_id)
