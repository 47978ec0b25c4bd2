"""Submissions as administrators find, add, grade anew and remove them.

Whatever makes or unmakes a solve here leaves behind what a solve on the challenge's page would have: a decaying value
that fits the solves, and where one is made, its events for the webhooks.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.columns import matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row, locked
from ctfd_twisted.errors import Invalid, Malformed, NotFound
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.pagination import Page
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.scoring.values import recompute_values
from ctfd_twisted.webhooks.store import emit_solve, solve_created

#: What ``submissions.type`` can be; none at all in a row of which nobody said.
TYPES: Final = frozenset({"correct", "incorrect", "partial", "discard", "ratelimited"})


class SubmissionFields(msgspec.Struct, frozen=True):
    """What POST takes. The team is not looked up: where teams play, whoever adds a submission names it."""

    challenge_id: int | None = None
    user_id: int | None = None
    team_id: int | None = None
    ip: Annotated[str, Meta(max_length=46)] | None = None
    provided: str | None = None
    type: str | None = None


class SubmissionFilter(msgspec.Struct, frozen=True):
    """Which submissions are asked for."""

    challenge_id: int | UnsetType = UNSET
    user_id: int | UnsetType = UNSET
    team_id: int | UnsetType = UNSET
    ip: str | UnsetType = UNSET
    provided: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["challenge_id", "user_id", "team_id", "ip", "provided", "type"] | UnsetType = UNSET


class SubmittedTo(TypedDict):
    """The challenge that a submission answers, at its present value."""

    id: int
    name: str | None
    category: str | None
    value: int | None


class SubmittedBy(TypedDict):
    """Who submitted, or their team."""

    id: int
    name: str | None


class SubmissionShown(TypedDict):
    """A submission as administrators read it; what is not there any more is null. ``date`` has an offset."""

    id: int
    challenge_id: int | None
    challenge: SubmittedTo | None
    user_id: int | None
    user: SubmittedBy | None
    team_id: int | None
    team: SubmittedBy | None
    ip: str | None
    provided: str | None
    type: str | None
    date: str | None


class Found(NamedTuple):
    """One page of submissions, and how many there are on all pages."""

    items: list[SubmissionShown]
    total: int


def list_submissions(conn: Connection, wanted: SubmissionFilter, page: Page) -> Found:
    """The submissions that *wanted* describes, by id."""
    total = conn.execute(matching(select(func.count()).select_from(submissions), submissions, wanted)).scalar_one()
    if page.offset >= total:
        return Found([], total)
    ids = matching(select(submissions.c.id), submissions, wanted)
    # What stands before a page is skipped as ids alone, from the nearer end: of a late page that is next to nothing.
    until = min(page.offset + page.size, total)
    if page.offset > total // 2:
        ids = ids.order_by(submissions.c.id.desc()).offset(total - until).limit(until - page.offset)
    else:
        ids = ids.order_by(submissions.c.id).offset(page.offset).limit(page.size)
    rows = _shown().where(submissions.c.id.in_(ids)).order_by(submissions.c.id)
    return Found([_readout(row) for row in conn.execute(rows)], total)


def read_submission(conn: Connection, submission_id: int) -> SubmissionShown:
    """One submission. Raises ``NotFound``."""
    row = conn.execute(_shown().where(submissions.c.id == submission_id)).first()
    if row is None:
        raise NotFound
    return _readout(row)


def create_submission(conn: Connection, now: datetime, fields: SubmissionFields) -> SubmissionShown:
    """Add a submission; one that is ``correct`` is a solve, whatever the flags say.

    Raises ``Malformed`` for an unknown type, for references to what does not exist, for a solve of no challenge or by
    nobody, and for one that the account has already.
    """
    if fields.type is not None and fields.type not in TYPES:
        raise Malformed(f"There is no type of submissions {fields.type!r}")
    columns = {**msgspec.structs.asdict(fields), "date": now}
    if fields.type != "correct":
        try:
            with conn.begin_nested():
                submission_id = insert_row(conn, submissions, columns)
        except IntegrityError:
            raise Malformed("There is no such challenge, user or team") from None
        _tell(conn, fields)
        return read_submission(conn, submission_id)
    if fields.challenge_id is None or (fields.user_id is None and fields.team_id is None):
        raise Malformed("A solve needs a challenge_id and a user_id or a team_id")
    try:
        solve_id = _add_solve(conn, columns)
    except IntegrityError:
        raise Malformed("There is no such challenge, user or team, or they have solved it already") from None
    return _follow_solve(conn, now, solve_id, fields)


def regrade_submission(conn: Connection, now: datetime, submission_id: int, type: object) -> SubmissionShown:
    """Make a submission ``correct`` or ``incorrect``; any other *type* changes nothing.

    The first adds a solve with what the submission says, which is then marked ``discard``; the second takes a solve
    back and keeps the submission. Raises ``NotFound``, and ``Invalid`` where the account has solved the challenge.
    """
    row = conn.execute(locked(select(submissions).where(submissions.c.id == submission_id), conn)).first()
    if row is None:
        raise NotFound
    if type == "correct":
        return _accept(conn, now, row)
    if type == "incorrect" and row.type != type:
        was_solve = _unsolve(conn, submission_id)
        conn.execute(update(submissions).where(submissions.c.id == submission_id).values(type=type))
        _tell(conn, row)
        if was_solve:
            _revalue(conn, row.challenge_id)
    return read_submission(conn, submission_id)


def delete_submission(conn: Connection, submission_id: int) -> None:
    """Remove a submission, and the solve that it is. Raises ``NotFound``."""
    row = conn.execute(locked(select(submissions).where(submissions.c.id == submission_id), conn)).first()
    if row is None:
        raise NotFound
    # Databases that CTFd began long ago may lack the cascade.
    was_solve = _unsolve(conn, submission_id)
    conn.execute(delete(submissions).where(submissions.c.id == submission_id))
    _tell(conn, row)
    if was_solve:
        _revalue(conn, row.challenge_id)


def _accept(conn: Connection, now: datetime, row: Row[Any]) -> SubmissionShown:
    named = [solves.c[name] == getattr(row, name) for name in ("user_id", "team_id") if getattr(row, name) is not None]
    if row.challenge_id is None or not named:
        raise Malformed("The submission names no challenge, or nobody who could have solved it")
    earlier = select(solves.c.id).where(and_(solves.c.challenge_id == row.challenge_id, or_(*named)))
    if conn.execute(earlier).first() is not None:
        raise Invalid(type=["Solve already exists for this submission"])
    copied = {name: getattr(row, name) for name in ("challenge_id", "user_id", "team_id", "ip", "provided")}
    try:
        solve_id = _add_solve(conn, {**copied, "type": "correct", "date": row.date or now})
    except IntegrityError:
        # Somebody was faster between the question and here.
        raise Invalid(type=["Solve already exists for this submission"]) from None
    conn.execute(update(submissions).where(submissions.c.id == row.id).values(type="discard"))
    return _follow_solve(conn, now, solve_id, row)


def _add_solve(conn: Connection, columns: dict[str, Any]) -> int:
    with conn.begin_nested():
        solve_id = insert_row(conn, submissions, columns)
        whose = {name: columns[name] for name in ("challenge_id", "user_id", "team_id")}
        conn.execute(insert(solves).values(id=solve_id, **whose))
    return solve_id


def _follow_solve(conn: Connection, now: datetime, solve_id: int, whose: Any) -> SubmissionShown:
    """What comes after a new solve: the challenge's value, news of the account, and last the events."""
    _tell(conn, whose)
    _revalue(conn, whose.challenge_id)
    shown = read_submission(conn, solve_id)
    teams_mode = read_competition(conn).teams
    kind = account_kind(teams_mode=teams_mode)
    listed = select(kind.table.c.id).where(kind.table.c.id == getattr(whose, kind.column), kind.listed)
    is_listed = conn.execute(listed).first() is not None
    emit_solve(conn, now, solve_created(conn, solve_id), listed=is_listed, teams_mode=teams_mode)
    return shown


def _unsolve(conn: Connection, submission_id: int) -> bool:
    return bool(conn.execute(delete(solves).where(solves.c.id == submission_id)).rowcount)


def _revalue(conn: Connection, challenge_id: int | None) -> None:
    recompute_values(conn, () if challenge_id is None else (challenge_id,))


def _tell(conn: Connection, whose: Any) -> None:
    named = (("user", whose.user_id), ("team", whose.team_id))
    touch(conn, *(f"{word}:{number}" for word, number in named if number is not None))


def _shown() -> Select[Any]:
    return (
        select(
            submissions,
            challenges.c.id.label("known_challenge"),
            challenges.c.name.label("challenge_name"),
            challenges.c.category.label("challenge_category"),
            challenges.c.value.label("challenge_value"),
            users.c.id.label("known_user"),
            users.c.name.label("user_name"),
            teams.c.id.label("known_team"),
            teams.c.name.label("team_name"),
        )
        .outerjoin(challenges, challenges.c.id == submissions.c.challenge_id)
        .outerjoin(users, users.c.id == submissions.c.user_id)
        .outerjoin(teams, teams.c.id == submissions.c.team_id)
    )


def _readout(row: Row[Any]) -> SubmissionShown:
    challenge: SubmittedTo = {
        "id": row.known_challenge,
        "name": row.challenge_name,
        "category": row.challenge_category,
        "value": row.challenge_value,
    }
    return {
        "id": row.id,
        "challenge_id": row.challenge_id,
        "challenge": None if row.known_challenge is None else challenge,
        "user_id": row.user_id,
        "user": None if row.known_user is None else {"id": row.known_user, "name": row.user_name},
        "team_id": row.team_id,
        "team": None if row.known_team is None else {"id": row.known_team, "name": row.team_name},
        "ip": row.ip,
        "provided": row.provided,
        "type": row.type,
        "date": iso(row.date),
    }
