"""What accounts were awarded, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, String, cast, func, literal, select, true

from ctfd_twisted.accounts.history import Asker, named_challenges
from ctfd_twisted.accounts.profiles import listed, show_team, show_user
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import hints
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import awards

# The two kinds of awards that name a challenge: what a hint has cost, and the tick of a hill. CTFd's table has no
# column that says of which.
_HINT: Final = (awards.c.category == "hints") & (awards.c.name == literal("Hint ") + cast(hints.c.id, String))
_TICK: Final = ticks.c.award_id == awards.c.id


class Award(msgspec.Struct, frozen=True):
    """One award."""

    id: int
    user_id: int | None
    team_id: int | None
    type: str | None
    name: str | None
    description: str | None
    date: datetime | None
    value: int | None
    category: str | None
    icon: str | None
    requirements: dict[str, Any] | None


def list_user_awards(conn: Connection, competition: Competition, asker: Asker, user_id: int) -> tuple[Award, ...]:
    """Return the awards of one user; raises ``NotFound`` for one of whom *asker* may not know."""
    show_user(conn, user_id, everyone=asker.sees_all)
    return list_awards(conn, competition, asker, (user_id,))


def list_team_awards(conn: Connection, competition: Competition, asker: Asker, team_id: int) -> tuple[Award, ...]:
    """Return the awards of a team's present members; raises ``NotFound`` for one of which *asker* may not know."""
    return list_awards(conn, competition, asker, show_team(conn, team_id, everyone=asker.sees_all).members)


def list_awards(conn: Connection, competition: Competition, asker: Asker, user_ids: Sequence[int]) -> tuple[Award, ...]:
    """Return the awards of the users.

    Who does not see all gets those from before the freeze, without the ids of hidden or banned people and teams, and
    without words where these would name a challenge that they do not see by name in their list.
    """
    # Joined with those alone whom the asker may know of, so that the others have no id in what comes out.
    known_user, known_team = (true(), true()) if asker.sees_all else (listed(users), listed(teams))
    others = [column for column in awards.c if column.name not in {"user_id", "team_id"}]
    statement = (
        select(users.c.id.label("user_id"), teams.c.id.label("team_id"), *others)
        .outerjoin_from(awards, users, (users.c.id == awards.c.user_id) & known_user)
        .outerjoin(teams, (teams.c.id == awards.c.team_id) & known_team)
        .where(awards.c.user_id.in_(user_ids))
        .order_by(awards.c.date.desc(), awards.c.id.desc())
    )
    if asker.sees_all:
        return tuple(Award(**row) for row in conn.execute(statement).mappings())
    if competition.frozen_at is not None:
        statement = statement.where(awards.c.date < competition.frozen_at)
    about = func.coalesce(ticks.c.challenge_id, hints.c.challenge_id).label("about")
    found = conn.execute(statement.add_columns(about).outerjoin(ticks, _TICK).outerjoin(hints, _HINT)).mappings().all()
    named = {None, *named_challenges(conn, competition, asker)}
    untold = {"name": None, "description": None, "category": None}
    told = [{**row, **({} if row["about"] in named else untold)} for row in found]
    return tuple(Award(**{key: row[key] for key in Award.__struct_fields__}) for row in told)
