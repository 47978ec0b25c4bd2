"""What accounts were awarded, the newest first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, RowMapping, select, true

from ctfd_twisted.accounts.history import Asker, named_challenges
from ctfd_twisted.accounts.profiles import listed, show_team, show_user
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import hints
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import awards

#: How the award is called that a hint has cost.
_HINT: Final = re.compile(r"Hint ([0-9]{1,9})", re.ASCII)


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
    # Two kinds of awards name a challenge, a hill's tick and a hint's cost; CTFd's table has no column that says which.
    statement = statement.add_columns(ticks.c.challenge_id.label("hill"))
    found = conn.execute(statement.outerjoin(ticks, ticks.c.award_id == awards.c.id)).mappings().all()
    hinted = _hinted(conn, found)
    named = {None, *named_challenges(conn, competition, asker)}
    return tuple(_told(row, in_full={row["hill"], hinted.get(row["id"])} <= named) for row in found)


def _told(row: RowMapping, *, in_full: bool) -> Award:
    award = Award(**{name: row[name] for name in Award.__struct_fields__})
    return award if in_full else replace(award, name=None, description=None, category=None)


def _hinted(conn: Connection, found: Sequence[RowMapping]) -> Mapping[int, int]:
    """Return, by the ids of awards that are for hints, the challenges of the hints; 0 where a hint is gone."""
    bought = {row["id"]: _HINT.fullmatch(row["name"] or "") for row in found if row["category"] == "hints"}
    numbers = {award: int(name[1]) if name else 0 for award, name in bought.items()}
    wanted = select(hints.c.id, hints.c.challenge_id).where(hints.c.id.in_(set(numbers.values())))
    about = {row.id: row.challenge_id or 0 for row in conn.execute(wanted)}
    return {award: about.get(number, 0) for award, number in numbers.items()}
