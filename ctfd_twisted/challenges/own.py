"""What only one player knows of the challenges: their account's solves, attempts and unlocks, their own ratings.

It is kept until the topic ``user:<id>`` of the player or ``team:<id>`` of their team is touched, so whoever changes one
of these touches that of the account, and for a rating that of the player.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, func, select

from ctfd_twisted.accounts.tables import tracking
from ctfd_twisted.challenges.limits import DEFAULT_TIMEOUT
from ctfd_twisted.challenges.tables import ratings
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.tables import solves, submissions, unlocks

#: The kind of tracking row that says that a player has looked at a challenge.
OPENED = "challenges.open"


class Who(NamedTuple):
    """A player and the team they are in now; the key of what is kept for them."""

    user_id: int
    team_id: int | None

    def topics(self) -> tuple[str, ...]:
        """What is told when something of theirs has changed."""
        mine = f"user:{self.user_id}"
        return (mine,) if self.team_id is None else (mine, f"team:{self.team_id}")


class Rating(msgspec.Struct, frozen=True):
    """What a player thinks of a challenge; ``value`` is 1 or -1."""

    value: int | None
    review: str | None


class Own(msgspec.Struct, frozen=True):
    """What is one player's own, and their account's; somebody who is not signed in has nothing of it.

    ``attempts`` counts those at each challenge. Where only those within a ``window`` (seconds) are shown, ``instants``
    has theirs instead.
    """

    solved: frozenset[int] = frozenset()
    attempts: Mapping[int, int] = {}
    window: int | None = None
    instants: Mapping[int, tuple[datetime, ...]] = {}
    hints: frozenset[int] = frozenset()
    ratings: Mapping[int, Rating] = {}
    opened: frozenset[int] = frozenset()

    def attempts_at(self, challenge_id: int, now: datetime) -> int:
        """How many attempts at a challenge are shown at *now*."""
        if self.window is None:
            return self.attempts.get(challenge_id, 0)
        since = now - timedelta(seconds=self.window)
        return sum(instant > since for instant in self.instants.get(challenge_id, ()))


def read_own(conn: Connection, who: Who) -> Own:
    """What is *who*'s own in this transaction."""
    competition = read_competition(conn)
    kind = account_kind(teams_mode=competition.teams)
    account_id = who.team_id if competition.teams else who.user_id
    user_ratings = conn.execute(select(ratings).where(ratings.c.user_id == who.user_id))
    rated = {row.challenge_id: Rating(row.value, row.review) for row in user_ratings}
    opened = select(tracking.c.target).where(tracking.c.user_id == who.user_id, tracking.c.type == OPENED)
    looked_at = frozenset(conn.execute(opened).scalars())
    if account_id is None:
        return Own(ratings=rated, opened=looked_at)
    unlocked = select(unlocks.c.target).where(kind.of(unlocks) == account_id, unlocks.c.type == "hints")
    solved = select(solves.c.challenge_id).where(kind.of(solves) == account_id)
    shown = (kind.of(submissions) == account_id, submissions.c.type.not_in(("discard", "ratelimited")))
    own = Own(
        solved=frozenset(conn.execute(solved).scalars()),
        hints=frozenset(conn.execute(unlocked).scalars()),
        ratings=rated,
        opened=looked_at,
    )
    if competition.text("max_attempts_behavior") == "timeout":
        instants: dict[int, list[datetime]] = {}
        for row in conn.execute(select(submissions.c.challenge_id, submissions.c.date).where(*shown)):
            instants.setdefault(row.challenge_id, []).append(row.date or LONG_AGO)
        window = competition.integer("max_attempts_timeout", DEFAULT_TIMEOUT)
        return replace(own, window=window, instants={number: tuple(list_) for number, list_ in instants.items()})
    counted = select(submissions.c.challenge_id, func.count()).where(*shown).group_by(submissions.c.challenge_id)
    return replace(own, attempts={row[0]: row[1] for row in conn.execute(counted)})
