"""Ratings: what those who have solved a challenge think of it, one of each player, and how administrators read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, TypedDict

import msgspec
from msgspec import Meta
from sqlalchemy import Connection, Row, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.catalogue import Ratings
from ctfd_twisted.challenges.tables import challenges, frozen_ratings, ratings
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row, locked
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.dates import iso, zulu
from ctfd_twisted.scoring.news import tell_rated

#: The longest review, in characters.
LONGEST: Final = 2000
_UP_OR_DOWN: Final = frozenset({1, -1})


class NewRating(msgspec.Struct, frozen=True):
    """What a player thinks of a challenge; ``value`` is 1 or -1."""

    value: int
    review: Annotated[str, Meta(max_length=LONGEST)] = ""


class RatingGiven(TypedDict):
    """A rating as its author is told that it is stored."""

    id: int
    user_id: int
    challenge_id: int
    value: int
    review: str
    date: str


class Reviewer(TypedDict):
    """Who has rated a challenge."""

    id: int
    name: str | None


class ReviewedChallenge(TypedDict):
    """The challenge that was rated."""

    id: int
    name: str | None
    category: str | None


class Review(TypedDict):
    """A rating as administrators read it."""

    id: int
    user_id: int
    user: Reviewer
    challenge_id: int
    challenge: ReviewedChallenge
    value: int | None
    review: str | None
    date: str | None


class Reviews(msgspec.Struct, frozen=True):
    """One page of a challenge's ratings, newest first, and what all of them together are."""

    items: tuple[Review, ...]
    summary: Ratings


def read_rating(body: Mapping[str, object]) -> NewRating:
    """The rating that *body* describes; raises ``Invalid`` with CTFd's messages, one at a time as it does."""
    value, review = body.get("value"), body.get("review")
    if value is None:
        raise Invalid(value=["Rating value is required"])
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        raise Invalid(value=["Rating value must be an integer"]) from None
    if number not in _UP_OR_DOWN:
        raise Invalid(value=["Rating value must be either 1 or -1"])
    if review is None:
        return NewRating(number)
    if not isinstance(review, str):
        raise Invalid(review=["Not a valid string."])
    if len(review) > LONGEST:
        raise Invalid(review=[f"Review text cannot exceed {LONGEST} characters"])
    return NewRating(number, review)


def rate(conn: Connection, now: datetime, user_id: int, challenge_id: int, new: NewRating) -> RatingGiven:
    """Store a player's rating in the place of the one they gave before; raises ``NotFound`` for an unknown challenge.

    Whether they may rate it has been asked before.
    """
    key = {"user_id": user_id, "challenge_id": challenge_id}
    columns = {"value": new.value, "review": new.review, "date": now}
    present = _present(conn, key)
    rating_id = _add(conn, now, key, columns) if present is None else _replace(conn, now, present, columns)
    team_id = conn.execute(select(users.c.team_id).where(users.c.id == user_id)).scalar()
    tell_rated(conn, challenge_id)
    touch(conn, f"user:{user_id}", f"team:{team_id}")
    return {
        "id": rating_id,
        "user_id": user_id,
        "challenge_id": challenge_id,
        "value": new.value,
        "review": new.review,
        "date": zulu(now),
    }


def list_ratings(conn: Connection, challenge_id: int, offset: int, limit: int) -> Reviews:
    """*limit* ratings of a challenge after the first *offset*; none of one that does not exist."""
    mine = ratings.c.challenge_id == challenge_id
    rows = conn.execute(
        select(ratings, users.c.name.label("user_name"), challenges.c.name, challenges.c.category)
        .join(users, users.c.id == ratings.c.user_id)
        .join(challenges, challenges.c.id == ratings.c.challenge_id)
        .where(mine)
        .order_by(ratings.c.id.desc())
        .offset(offset)
        .limit(limit)
    )
    up, down = (func.count(case((ratings.c.value == value, 1))) for value in (1, -1))
    summary = Ratings(*conn.execute(select(up, down, func.count()).where(mine)).one())
    return Reviews(tuple(map(_readout, rows)), summary)


def _present(conn: Connection, key: Mapping[str, int]) -> Row[Any] | None:
    mine = (ratings.c.user_id == key["user_id"]) & (ratings.c.challenge_id == key["challenge_id"])
    return conn.execute(locked(select(ratings).where(mine), conn)).first()


def _add(conn: Connection, now: datetime, key: Mapping[str, int], columns: Mapping[str, object]) -> int:
    try:
        with conn.begin_nested():
            return insert_row(conn, ratings, {**key, **columns})
    except IntegrityError:
        # Their other request was faster, or there is no such challenge any more.
        present = _present(conn, key)
        if present is None:
            raise NotFound from None
        return _replace(conn, now, present, columns)


def _replace(conn: Connection, now: datetime, present: Row[Any], columns: Mapping[str, object]) -> int:
    freeze = read_competition(conn).frozen_at
    if freeze is not None and present.date is not None and present.date < freeze <= now:
        # What the public sees of it stays as it was.
        conn.execute(delete(frozen_ratings).where(frozen_ratings.c.rating_id == present.id))
        frozen = {"rating_id": present.id, "value": present.value, "date": present.date}
        conn.execute(insert(frozen_ratings).values(**frozen))
    conn.execute(update(ratings).where(ratings.c.id == present.id).values(**columns))
    return int(present.id)


def _readout(row: Row[Any]) -> Review:
    return {
        "id": row.id,
        "user_id": row.user_id,
        "user": {"id": row.user_id, "name": row.user_name},
        "challenge_id": row.challenge_id,
        "challenge": {"id": row.challenge_id, "name": row.name, "category": row.category},
        "value": row.value,
        "review": row.review,
        "date": iso(row.date),
    }
