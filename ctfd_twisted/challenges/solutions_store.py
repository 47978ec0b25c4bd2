"""Solutions, at most one of each challenge, as administrators make, change, find and remove them and as one is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, delete, select

from ctfd_twisted.challenges.part_store import add_part, change_part, read_part, remove_part
from ctfd_twisted.challenges.tables import files, solutions
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.columns import given, matching
from ctfd_twisted.errors import Invalid, Malformed
from ctfd_twisted.files.store import take_files
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.tables import unlocks

State = Annotated[str, Meta(max_length=80)]


class NewSolution(msgspec.Struct, frozen=True):
    """What POST takes; without a state it is hidden."""

    challenge_id: int | None = None
    content: str | None = None
    state: State | None = None


class SolutionFields(msgspec.Struct, frozen=True):
    """What PATCH takes. A state other than ``visible`` and ``solved`` hides the solution."""

    challenge_id: int | UnsetType | None = UNSET
    content: str | UnsetType | None = UNSET
    state: State | UnsetType = UNSET


class SolutionFilter(msgspec.Struct, frozen=True):
    """Which solutions are asked for."""

    state: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["state"] | UnsetType = UNSET


class Solution(msgspec.Struct, frozen=True):
    """One solution as it is stored; ``content`` is Markdown."""

    id: int
    challenge_id: int | None
    content: str | None
    state: str


def list_solutions(conn: Connection, wanted: SolutionFilter) -> list[Solution]:
    """All solutions that *wanted* describes, by id."""
    rows = conn.execute(matching(select(solutions), solutions, wanted).order_by(solutions.c.id))
    return [_solution(row) for row in rows]


def read_solution(conn: Connection, solution_id: int) -> Solution:
    """One solution. Raises ``NotFound``."""
    return _solution(read_part(conn, solutions, solution_id))


def is_unlocked(conn: Connection, competition: Competition, solution_id: int, account_id: int | None) -> bool:
    """Whether an account has unlocked a solution; nobody's unlocks, as of before teams played, are no account's."""
    if account_id is None:
        return False
    mine = account_kind(teams_mode=competition.teams).of(unlocks) == account_id
    return conn.execute(select(unlocks.c.id).where(mine, _unlocks_of(solution_id)).limit(1)).first() is not None


def create_solution(conn: Connection, new: NewSolution) -> Solution:
    """Make a solution; raises ``Invalid`` for a challenge that has one, and for one that does not exist."""
    try:
        return _solution(add_part(conn, solutions, {**given(new), "state": new.state or "hidden"}))
    except Malformed:
        raise _refused() from None


def update_solution(conn: Connection, solution_id: int, fields: SolutionFields) -> Solution:
    """Change what *fields* names; raises ``NotFound``, else as ``create_solution``."""
    try:
        return _solution(change_part(conn, solutions, solution_id, given(fields)))
    except Malformed:
        raise _refused() from None


def delete_solution(conn: Connection, solution_id: int) -> tuple[str, ...]:
    """Remove a solution with its unlocks; return the locations of its files, whose content is to be removed.

    Raises ``NotFound``.
    """
    locations = take_files(conn, files.c.solution_id == solution_id)
    # SQLite may give the id to the next solution, which nobody has unlocked.
    conn.execute(delete(unlocks).where(_unlocks_of(solution_id)))
    remove_part(conn, solutions, solution_id)
    return locations


def _unlocks_of(solution_id: int) -> Any:
    return (unlocks.c.type == "solutions") & (unlocks.c.target == solution_id)


def _refused() -> Invalid:
    # CTFd says so of an unknown challenge too.
    return Invalid(challenge_id=["A solution for this challenge already exists"])


def _solution(row: Row[Any]) -> Solution:
    return Solution(row.id, row.challenge_id, row.content, row.state)
