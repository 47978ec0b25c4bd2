"""What only one account knows of the challenges: its solves, attempts and unlocks, and its members' ratings.

It is kept until the topic ``team:<id>`` of the team, or ``user:<id>`` of somebody who plays alone, is touched, so
whoever changes one of these touches that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, func, or_, select

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.limits import DEFAULT_TIMEOUT
from ctfd_twisted.challenges.tables import ratings
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.gathered import gathered, numbers
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.tables import solves, submissions, unlocks


class Who(NamedTuple):
    """An account, and what of the competition decides what is its own.

    It is the key of what is kept for it: other settings make another key, so a change of settings drops nothing. Where
    ``teams`` play it is a team's, or that of a user without one (who has rated, but done nothing else); elsewhere it is
    a user's. ``window`` is for how many seconds an attempt is shown, ``None`` where it is shown for ever.
    """

    user_id: int | None
    team_id: int | None = None
    teams: bool = False
    window: int | None = None

    @classmethod
    def of(cls, player: Player, competition: Competition) -> Who:
        """What *player* is known by in *competition*."""
        window = None
        if competition.text("max_attempts_behavior") == "timeout":
            window = competition.integer("max_attempts_timeout", DEFAULT_TIMEOUT)
        if competition.teams and player.team_id is not None:
            return cls(None, player.team_id, competition.teams, window)
        return cls(player.id, None, competition.teams, window)

    @property
    def account_id(self) -> int | None:
        """Who scores: the team in teams mode (``None`` without one), else the person."""
        return self.team_id if self.teams else self.user_id

    def topics(self) -> tuple[str]:
        """What is told when something of theirs has changed."""
        return (f"user:{self.user_id}",) if self.team_id is None else (f"team:{self.team_id}",)


class Rating(msgspec.Struct, frozen=True):
    """What a player thinks of a challenge; ``value`` is 1 or -1."""

    value: int | None
    review: str | None


class Own(msgspec.Struct, frozen=True):
    """What is one account's own; somebody who is not signed in has nothing of it.

    ``attempts`` counts those at each challenge. Where only those within a ``window`` (seconds) are shown, ``instants``
    has theirs instead. ``ratings`` are by member and challenge.
    """

    solved: frozenset[int] = frozenset()
    attempts: Mapping[int, int] = {}
    window: int | None = None
    instants: Mapping[int, tuple[datetime, ...]] = {}
    hints: frozenset[int] = frozenset()
    ratings: Mapping[tuple[int | None, int], Rating] = {}

    def attempts_at(self, challenge_id: int, now: datetime) -> int:
        """How many attempts at a challenge are shown at *now*."""
        if self.window is None:
            return self.attempts.get(challenge_id, 0)
        since = now - timedelta(seconds=self.window)
        return sum(instant > since for instant in self.instants.get(challenge_id, ()))


def _by_members(*, teams: bool) -> ColumnElement[bool]:
    """Whose ratings are of the account: the user's, and where teams play those of the team's members."""
    mine = ratings.c.user_id == bindparam("user")
    if not teams:
        return mine
    return or_(mine, ratings.c.user_id.in_(select(users.c.id).where(users.c.team_id == bindparam("account"))))


_SHOWN: Final = and_(submissions.c.type != "discard", submissions.c.type != "ratelimited")


def _facts(*, teams: bool, windowed: bool) -> Select[Any]:
    """All that is an account's own in one row, but for attempts within a window, of which it has the newest's date."""
    kind = account_kind(teams_mode=teams)
    account: BindParameter[int] = bindparam("account")
    solved = select(gathered(solves.c.challenge_id)).where(kind.of(solves) == account)
    hints = select(gathered(unlocks.c.target)).where(kind.of(unlocks) == account, unlocks.c.type == "hints")
    shown = (kind.of(submissions) == account, _SHOWN)
    counts = (
        select(submissions.c.challenge_id, func.count().label("count"))
        .where(*shown)
        .group_by(submissions.c.challenge_id)
        .subquery("counts")
    )
    rated = select(func.count()).select_from(ratings).where(_by_members(teams=teams))
    columns = [
        solved.scalar_subquery().label("solved"),
        hints.scalar_subquery().label("hints"),
        rated.scalar_subquery().label("rated"),
    ]
    if windowed:
        return select(*columns, select(func.max(submissions.c.date)).where(*shown).scalar_subquery().label("newest"))
    return select(*columns, select(gathered(counts.c.challenge_id, counts.c.count)).scalar_subquery().label("attempts"))


def _instants(*, teams: bool) -> Select[Any]:
    mine = account_kind(teams_mode=teams).of(submissions) == bindparam("account")
    dated = select(submissions.c.challenge_id, submissions.c.date)
    return dated.where(mine, _SHOWN, submissions.c.date > bindparam("since"))


# Built once, because compiling them anew would cost more than running them.
_FACTS: Final = {
    (teams, windowed): _facts(teams=teams, windowed=windowed) for teams in (False, True) for windowed in (False, True)
}
_INSTANTS: Final = {teams: _instants(teams=teams) for teams in (False, True)}
_RATINGS: Final = {
    teams: select(ratings.c.user_id, ratings.c.challenge_id, ratings.c.value, ratings.c.review).where(
        _by_members(teams=teams)
    )
    for teams in (False, True)
}


def read_own(conn: Connection, who: Who) -> Own:
    """What is *who*'s own in this transaction."""
    ids = {"account": who.account_id, "user": who.user_id}
    row = conn.execute(_FACTS[who.teams, who.window is not None], ids).one()
    rated = conn.execute(_RATINGS[who.teams], ids) if row.rated else ()
    own = Own(
        solved=frozenset(numbers(row.solved)),
        hints=frozenset(numbers(row.hints)),
        ratings={(rating.user_id, rating.challenge_id): Rating(rating.value, rating.review) for rating in rated},
    )
    if who.window is None:
        counts = numbers(row.attempts)
        return replace(own, attempts=dict(zip(counts[::2], counts[1::2], strict=True)))
    return replace(own, window=who.window, instants=_read_instants(conn, who, row.newest))


def _read_instants(conn: Connection, who: Who, newest: datetime | None) -> dict[int, tuple[datetime, ...]]:
    """When the account's attempts were that may still be shown: older ones were not even when the newest came in."""
    if newest is None or who.window is None:
        return {}
    instants: dict[int, list[datetime]] = {}
    since = newest - timedelta(seconds=who.window)
    for row in conn.execute(_INSTANTS[who.teams], {"account": who.account_id, "since": since}):
        instants.setdefault(row.challenge_id, []).append(row.date)
    return {number: tuple(times) for number, times in instants.items()}
