"""Events out of the database: what is known of a user, a team, a solve or a hill at this moment of a transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Row, select

from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.errors import NotFound
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.webhooks.events import (
    FieldValue,
    King,
    KingChanged,
    Named,
    SolveCreated,
    Solved,
    TeamCreated,
    UserCreated,
    moment,
)


def user_created(conn: Connection, user_id: int) -> UserCreated:
    """The user as ``user.created`` tells of them. Raises ``NotFound``.

    Call it when their fields are stored.
    """
    row = _account(conn, users, user_id)
    return UserCreated(
        country=row.country,
        website=row.website,
        oauth_id=row.oauth_id,
        name=row.name or "",
        id=row.id,
        fields=_public_fields(conn, field_entries.c.user_id, user_id),
        team_id=row.team_id,
        affiliation=row.affiliation,
        bracket=row.bracket,
    )


def team_created(conn: Connection, team_id: int) -> TeamCreated:
    """The team as ``team.created`` tells of it. Raises ``NotFound``.

    Call it when captain, members and fields are stored.
    """
    row = _account(conn, teams, team_id)
    members = conn.execute(select(users.c.id).where(users.c.team_id == team_id).order_by(users.c.id)).scalars()
    return TeamCreated(
        country=row.country,
        website=row.website,
        oauth_id=row.oauth_id,
        name=row.name or "",
        id=row.id,
        fields=_public_fields(conn, field_entries.c.team_id, team_id),
        captain_id=row.captain_id,
        members=tuple(members),
        affiliation=row.affiliation,
        bracket=row.bracket,
    )


def solve_created(conn: Connection, solve_id: int) -> SolveCreated:
    """The solve as ``solve.created`` tells of it. Raises ``NotFound``.

    Whoever has the names at hand makes a ``SolveCreated`` without asking the database.
    """
    row = conn.execute(
        select(
            submissions.c.challenge_id,
            submissions.c.date,
            challenges.c.id.label("known"),
            challenges.c.name,
            challenges.c.category,
            challenges.c.value,
            teams.c.id.label("team_id"),
            teams.c.name.label("team_name"),
            users.c.id.label("user_id"),
            users.c.name.label("user_name"),
        )
        .outerjoin(challenges, challenges.c.id == submissions.c.challenge_id)
        .outerjoin(teams, teams.c.id == submissions.c.team_id)
        .outerjoin(users, users.c.id == submissions.c.user_id)
        .where(submissions.c.id == solve_id, submissions.c.type == "correct")
    ).first()
    if row is None:
        raise NotFound
    return SolveCreated(
        id=solve_id,
        challenge_id=row.challenge_id,
        challenge=None if row.known is None else Solved(row.known, row.name or "", row.category, row.value),
        team=None if row.team_id is None else Named(row.team_id, row.team_name or ""),
        user=None if row.user_id is None else Named(row.user_id, row.user_name or ""),
        date=moment(row.date),
    )


def king_changed(
    conn: Connection, challenge_id: int, *, king: int | None, previous: int | None, teams_mode: bool, since: datetime
) -> KingChanged:
    """The change of hands of a hill; *king* and *previous* are account ids, of teams in team mode.

    An account that was deleted since reads as nobody.
    """
    row = conn.execute(
        select(challenges.c.name, challenges.c.category, challenges.c.value).where(challenges.c.id == challenge_id)
    ).first()
    table, kind = (teams, "team") if teams_mode else (users, "user")
    wanted = [account for account in (king, previous) if account is not None]
    found = conn.execute(select(table.c.id, table.c.name).where(table.c.id.in_(wanted))).all() if wanted else []
    accounts = {account.id: King(account.id, account.name or "", kind) for account in found}
    return KingChanged(
        challenge_id=challenge_id,
        challenge=None if row is None else Solved(challenge_id, row.name or "", row.category, row.value),
        king=None if king is None else accounts.get(king),
        previous=None if previous is None else accounts.get(previous),
        since=moment(since),
    )


def _account(conn: Connection, table: Any, account_id: int) -> Row[Any]:
    row = conn.execute(
        select(table, brackets.c.name.label("bracket"))
        .outerjoin(brackets, brackets.c.id == table.c.bracket_id)
        .where(table.c.id == account_id)
    ).first()
    if row is None:
        raise NotFound
    return row


def _public_fields(conn: Connection, owner: Column[Any], account_id: int) -> tuple[FieldValue, ...]:
    found = conn.execute(
        select(fields.c.id, fields.c.name, field_entries.c.value)
        .join(fields, fields.c.id == field_entries.c.field_id)
        .where(owner == account_id, fields.c.public.is_(True))
        .order_by(fields.c.id)
    )
    return tuple(FieldValue(row.id, row.name or "", row.value) for row in found)
