"""Topics of commits that only add: a solve, an award. Whoever can add it up does, and everybody else reads anew.

A commit that takes away or changes (a deleted submission, an edited challenge, a hidden account) tells ``standings``
instead, after which the board is made from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection

from ctfd_twisted.db.notices import touch

#: Some account has a new solve or award.
POINTS: Final = "points"
#: Some challenge was solved once more.
SOLVED: Final = "solved"
#: After which commits any board may look different.
BOARD_TOPICS: Final = ("standings", POINTS, "challenges", "accounts", "newcomers", "config")

_USER: Final = f"{POINTS}:user:"
_TEAM: Final = f"{POINTS}:team:"
_CHALLENGE: Final = f"{SOLVED}:"
_RATED: Final = "rated:"
_ROSTER: Final = "roster:"

#: How the topics begin that name who and what it was.
POINTS_OF: Final = (_USER, _TEAM)
SOLVED_OF: Final = (_CHALLENGE,)
RATED_OF: Final = (_RATED,)
ROSTERS_OF: Final = (_ROSTER,)


def tell_points(conn: Connection, user_id: int | None, team_id: int | None) -> None:
    """Tell that a user, for a team where there is one, has a new solve or award."""
    named = ((_USER, user_id), (_TEAM, team_id))
    touch(conn, POINTS, *(f"{prefix}{number}" for prefix, number in named if number is not None))


def tell_solved(conn: Connection, challenge_id: int) -> None:
    """Tell that a challenge was solved once more."""
    touch(conn, SOLVED, solved_topic(challenge_id))


def solved_topic(challenge_id: int) -> str:
    """The topic of one challenge's solves."""
    return f"{_CHALLENGE}{challenge_id}"


def tell_rated(conn: Connection, challenge_id: int) -> None:
    """Tell that what players think of a challenge has changed."""
    touch(conn, f"{_RATED}{challenge_id}")


def tell_roster(conn: Connection, team_id: int) -> None:
    """Tell that somebody is in a team now who was in none; what they did before is not the team's."""
    touch(conn, f"{_ROSTER}{team_id}")


def users_in(news: Iterable[str]) -> frozenset[int]:
    """The users that *news* is about."""
    return _numbers(news, _USER)


def teams_in(news: Iterable[str]) -> frozenset[int]:
    """The teams that *news* is about."""
    return _numbers(news, _TEAM)


def challenges_in(news: Iterable[str]) -> frozenset[int]:
    """The challenges that were solved by *news*."""
    return _numbers(news, _CHALLENGE)


def rated_in(news: Iterable[str]) -> frozenset[int]:
    """The challenges that were rated by *news*."""
    return _numbers(news, _RATED)


def rosters_in(news: Iterable[str]) -> frozenset[int]:
    """The teams that somebody has joined by *news*."""
    return _numbers(news, _ROSTER)


def _numbers(news: Iterable[str], prefix: str) -> frozenset[int]:
    return frozenset(int(topic.removeprefix(prefix)) for topic in news if topic.startswith(prefix))
