"""Challenges as administrators make, change, read and remove them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.challenges.bodies import read_fields
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.shown import ChallengeShown, readout
from ctfd_twisted.challenges.tables import challenge_ends, challenges, dynamic_challenge, files, ratings, solutions
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Invalid, Malformed, NotFound
from ctfd_twisted.files.store import take_files
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.scoring.tables import submissions, unlocks
from ctfd_twisted.scoring.values import recompute_values

#: What a new challenge is where nobody says otherwise.
_NEW: Final[Mapping[str, Any]] = {
    "type": "standard",
    "state": "visible",
    "logic": "any",
    "position": 0,
    "max_attempts": 0,
    "function": "static",
}


def create_challenge(conn: Connection, now: datetime, fields: Mapping[str, Any]) -> ChallengeShown:
    """Make the challenge that *fields* describes and return its read-out.

    Raises ``Invalid`` for wrong fields, ``Malformed`` for a type, module or next challenge that does not exist and for
    an id that is taken, ``Impossible`` with CTFd's texts for a decay that lacks a number.
    """
    columns = {**_NEW, **read_fields(fields)}
    columns["type"] = columns["type"] or _NEW["type"]
    kind = _kind(columns["type"])
    _demand_time(columns)
    ends_at = columns.pop("ends_at", None)
    challenge_id = _insert(conn, columns)
    _set_end(conn, challenge_id, ends_at)
    kind.create(conn, now, challenge_id, fields)
    recompute_values(conn, (challenge_id,))
    return read_challenge(conn, challenge_id)


def update_challenge(conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> ChallengeShown:
    """Change what *fields* names and return the read-out. Raises ``NotFound``, else as ``create_challenge``.

    A new ``type`` changes the label alone; settings of the former type stay where they are and mean nothing.
    """
    row = _row(conn, challenge_id, lock=True)
    columns = read_fields(fields)
    columns.pop("id", None)
    name = columns.get("type", row.type) or _NEW["type"]
    kind = _kind(name)
    if not columns.keys().isdisjoint(("scheduled_at", "ends_at")):
        _demand_time({**row._asdict(), **columns})
    if "ends_at" in columns:
        _set_end(conn, challenge_id, columns.pop("ends_at"))
    if columns:
        columns.setdefault("type", name)
        with _references_exist(conn):
            conn.execute(update(challenges).where(challenges.c.id == challenge_id).values(**columns))
    kind.update(conn, now, challenge_id, fields)
    recompute_values(conn, (challenge_id,))
    return read_challenge(conn, challenge_id)


def delete_challenge(conn: Connection, challenge_id: int) -> tuple[str, ...]:
    """Remove a challenge with all that hangs on it; return the locations of its files, whose content is to be removed.

    Unlocks of hints and the awards that paid for them stay. Raises ``NotFound``.
    """
    _row(conn, challenge_id, lock=True)
    solution = select(solutions.c.id).where(solutions.c.challenge_id == challenge_id)
    of_it = (files.c.challenge_id == challenge_id) | files.c.solution_id.in_(solution)
    locations = take_files(conn, of_it)
    conn.execute(delete(unlocks).where(unlocks.c.type == "solutions", unlocks.c.target.in_(solution)))
    touch(conn, *_whose(conn, challenge_id))
    # Databases that CTFd began long ago lack some of the cascades, so what they should do is done before.
    conn.execute(delete(submissions).where(submissions.c.challenge_id == challenge_id))
    conn.execute(delete(solutions).where(solutions.c.challenge_id == challenge_id))
    conn.execute(delete(dynamic_challenge).where(dynamic_challenge.c.id == challenge_id))
    conn.execute(update(challenges).where(challenges.c.next_id == challenge_id).values(next_id=None))
    conn.execute(delete(challenges).where(challenges.c.id == challenge_id))
    touch(conn, "challenges", "standings")
    return locations


def _whose(conn: Connection, challenge_id: int) -> Iterator[str]:
    """The topics of those who have answered or rated a challenge: SQLite may give its id to the next one."""
    for word, column in (
        ("user", submissions.c.user_id),
        ("team", submissions.c.team_id),
        ("user", ratings.c.user_id),
    ):
        mine = select(column).where(column.table.c.challenge_id == challenge_id, column.is_not(None)).distinct()
        yield from (f"{word}:{number}" for number in conn.execute(mine).scalars())


def read_challenge(conn: Connection, challenge_id: int) -> ChallengeShown:
    """One challenge as POST and PATCH answer it. Raises ``NotFound``."""
    row = _row(conn, challenge_id)
    kind = _kind(row.type)
    return readout(row._asdict(), kind, kind.settings(conn, (challenge_id,)).get(challenge_id, {}))


def read_requirements(conn: Connection, challenge_id: int) -> dict[str, Any] | None:
    """The stored requirements. Raises ``NotFound``."""
    requirements: dict[str, Any] | None = _row(conn, challenge_id).requirements
    return requirements


_READ: Final = (
    select(challenges, challenge_ends.c.ends_at)
    .outerjoin(challenge_ends, challenge_ends.c.challenge_id == challenges.c.id)
    .where(challenges.c.id == bindparam("challenge"))
)
_ROW: Final = {False: _READ, True: _READ.with_for_update(of=challenges)}


def _row(conn: Connection, challenge_id: int, *, lock: bool = False) -> Row[Any]:
    row = conn.execute(_ROW[lock], {"challenge": challenge_id}).first()
    if row is None:
        raise NotFound
    return row


def _demand_time(columns: Mapping[str, Any]) -> None:
    opens, ends = columns.get("scheduled_at"), columns.get("ends_at")
    if opens is not None and ends is not None and ends <= opens:
        raise Invalid(ends_at=["The end must come after the release"])


def _set_end(conn: Connection, challenge_id: int, ends_at: datetime | None) -> None:
    conn.execute(delete(challenge_ends).where(challenge_ends.c.challenge_id == challenge_id))
    if ends_at is not None:
        conn.execute(insert(challenge_ends).values(challenge_id=challenge_id, ends_at=ends_at))


def _kind(name: str | None) -> IChallengeType:
    kind = challenge_types().get(name or "standard")
    if kind is None:
        raise Malformed(f"There is no challenge type {name!r}")
    return kind


def _insert(conn: Connection, columns: Mapping[str, Any]) -> int:
    with _references_exist(conn):
        challenge_id: int = conn.execute(challenges.insert().returning(challenges.c.id), columns).scalar_one()
    if "id" in columns and conn.dialect.name == "postgresql":
        # An id that was given does not move the sequence, which would give it away again later.
        conn.execute(_MOVE_SEQUENCE, {"id": challenge_id})
    return challenge_id


# Never backwards: the ids of deleted challenges, and of those that others are just making, are not given away again.
_MOVE_SEQUENCE: Final = text(
    "SELECT setval(name, greatest(:id, nextval(name))) FROM pg_get_serial_sequence('challenges', 'id') AS name"
)


@contextmanager
def _references_exist(conn: Connection) -> Iterator[None]:
    try:
        with conn.begin_nested():
            yield
    except IntegrityError:
        raise Malformed("The id is taken, or next_id or module_id names nothing that exists") from None
