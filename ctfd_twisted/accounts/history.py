"""What accounts did: their solves, fails and other submissions, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Connection, Select, select, true

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.profiles import listed, show_team, show_user
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.attempt_sql import MODULES, SOLVED
from ctfd_twisted.challenges.rules import Viewer, gate_of, reach
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.store import displayed_value
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.scoring.values import frozen_values

#: ``submissions.type``.
DeedType = Literal["correct", "incorrect", "partial", "discard", "ratelimited"]


_GATES: Final = select(
    challenges.c.id,
    challenges.c.state,
    challenges.c.scheduled_at,
    challenges.c.module_id,
    challenges.c.requirements,
)


class Asker(msgspec.Struct, frozen=True):
    """For whom a history is read, and when.

    ``own``: the account's own people ask, so no freeze applies and nothing is kept from them.
    """

    player: Player | None
    now: datetime
    own: bool = False

    @property
    def sees_all(self) -> bool:
        """Whether nothing is left out: administrators, and the account's own people."""
        return self.own or (self.player is not None and self.player.is_admin)


class NamedAccount(msgspec.Struct, frozen=True):
    """A user or a team beside what they did."""

    id: int
    name: str | None


class NamedChallenge(msgspec.Struct, frozen=True):
    """The challenge beside what was done."""

    id: int
    name: str | None
    category: str | None
    value: int | None


class Deed(msgspec.Struct, frozen=True):
    """One submission, a solve among them, with whom and what it is about."""

    id: int
    challenge_id: int | None
    challenge: NamedChallenge | None
    user: NamedAccount | None
    team: NamedAccount | None
    date: datetime | None
    type: DeedType | None
    provided: str | None
    ip: str | None


def list_deeds(
    conn: Connection, competition: Competition, asker: Asker, user_ids: Sequence[int], type: DeedType
) -> tuple[Deed, ...]:
    """Return what the users did of one *type* of ``submissions.type`` (``correct``: their solves).

    Who does not see all gets what was there at the freeze, of challenges that they see by name in their list, and no
    names of hidden or banned people and teams.
    """
    statement = _deeds(conn, competition, asker).where(submissions.c.user_id.in_(user_ids), submissions.c.type == type)
    if not asker.sees_all:
        statement = statement.where(challenges.c.id.in_(named_challenges(conn, competition, asker)))
        if competition.frozen_at is not None:
            statement = statement.where(submissions.c.date < competition.frozen_at)
    return _read_deeds(conn, statement)


def list_user_deeds(
    conn: Connection, competition: Competition, asker: Asker, user_id: int, type: DeedType
) -> tuple[Deed, ...]:
    """Return what one user did; raises ``NotFound`` for one of whom *asker* may not know."""
    show_user(conn, user_id, everyone=asker.sees_all)
    return list_deeds(conn, competition, asker, (user_id,), type)


def list_team_deeds(
    conn: Connection, competition: Competition, asker: Asker, team_id: int, type: DeedType
) -> tuple[Deed, ...]:
    """Return what the present members of a team did; raises ``NotFound`` for one of which *asker* may not know."""
    return list_deeds(conn, competition, asker, show_team(conn, team_id, everyone=asker.sees_all).members, type)


def list_submissions(
    conn: Connection, competition: Competition, asker: Asker, account_id: int | None, challenge_id: int
) -> tuple[Deed, ...]:
    """Return everything that an account, its team mates included, submitted to one challenge."""
    column = submissions.c.team_id if competition.teams else submissions.c.user_id
    mine = _deeds(conn, competition, asker).where(column == account_id, submissions.c.challenge_id == challenge_id)
    return _read_deeds(conn, mine) if account_id is not None else ()


def named_challenges(conn: Connection, competition: Competition, asker: Asker) -> list[int]:
    """Return the ids of the challenges that *asker* sees by name in their list."""
    account_id = None if asker.player is None else asker.player.account_id(competition)
    viewer = Viewer()
    if account_id is not None:
        mine, teams_mode = {"account": account_id}, competition.teams
        viewer = Viewer(
            frozenset(row.challenge_id for row in SOLVED[teams_mode].all(conn, mine)),
            frozenset(row.module_id for row in MODULES[teams_mode].all(conn, mine)),
        )
    gates = [gate_of(row) for row in conn.execute(_GATES)]
    existing = {gate.id for gate in gates}
    return [gate.id for gate in gates if reach(gate, asker.now, viewer, existing).named]


def _deeds(conn: Connection, competition: Competition, asker: Asker) -> Select[Any]:
    all_names = asker.sees_all
    values = {} if all_names else frozen_values(conn, competition)
    return (
        select(
            submissions,
            challenges.c.id.label("known_challenge"),
            challenges.c.name.label("challenge_name"),
            challenges.c.category.label("challenge_category"),
            displayed_value(values).label("challenge_value"),
            users.c.id.label("known_user"),
            users.c.name.label("user_name"),
            teams.c.id.label("known_team"),
            teams.c.name.label("team_name"),
        )
        .outerjoin(challenges, challenges.c.id == submissions.c.challenge_id)
        .outerjoin(users, (users.c.id == submissions.c.user_id) & (true() if all_names else listed(users)))
        .outerjoin(teams, (teams.c.id == submissions.c.team_id) & (true() if all_names else listed(teams)))
        .order_by(submissions.c.date.desc(), submissions.c.id.desc())
    )


def _read_deeds(conn: Connection, statement: Select[Any]) -> tuple[Deed, ...]:
    return tuple(
        Deed(
            id=row.id,
            challenge_id=row.challenge_id,
            challenge=None
            if row.known_challenge is None
            else NamedChallenge(row.known_challenge, row.challenge_name, row.challenge_category, row.challenge_value),
            user=None if row.known_user is None else NamedAccount(row.known_user, row.user_name),
            team=None if row.known_team is None else NamedAccount(row.known_team, row.team_name),
            date=row.date,
            type=row.type,
            provided=row.provided,
            ip=row.ip,
        )
        for row in conn.execute(statement)
    )
