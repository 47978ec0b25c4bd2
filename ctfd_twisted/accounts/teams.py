"""Teams: created and changed by administrators, and by their captains (api/teams.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET
from sqlalchemy import Connection, Row, select

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.bodies import (
    FieldValue,
    GroupBody,
    NewPassword,
    OwnTeamBody,
    Sent,
    TeamBody,
    check_form,
    field_values,
    team_faults,
)
from ctfd_twisted.accounts.brackets import check_bracket, check_own_bracket
from ctfd_twisted.accounts.editing import (
    TEAM,
    account_to_change,
    check_email,
    check_name,
    check_own_name,
    columns,
    password_column,
    store_change,
)
from ctfd_twisted.accounts.fields import check_answers, check_own_answers, store_answers
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import insert_team, tell_team_created
from ctfd_twisted.accounts.profiles import member_ids, show_team
from ctfd_twisted.accounts.records import TeamRecord
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Invalid, NotFound, Refused


def create_team(conn: Connection, now: datetime, sent: Sent[TeamBody], password: NewPassword) -> TeamRecord:
    """Store a team as an administrator describes it and return the record; it has no members yet.

    Raises ``Invalid`` with the first of bracket, captain, e-mail, fields and name that breaks a rule, else with all
    faults of form; ``NotFound`` for an unknown custom field.
    """
    serialise(conn, "teams")
    answers = _check_first(conn, sent.body, None)
    check_form(sent, team_faults(sent.body), required=("name", "password"))
    team_id = insert_team(conn, now, **_columns(sent.body, TEAM.by_admins), password=password.hashed)
    store_answers(conn, "team", team_id, answers)
    tell_team_created(conn, now, team_id)
    return show_team(conn, team_id, everyone=True)


def edit_team(conn: Connection, team_id: int, sent: Sent[TeamBody], password: NewPassword) -> TeamRecord:
    """Change a team as an administrator wants and return the record; raises as ``create_team`` does."""
    present = account_to_change(conn, TEAM, team_id)
    answers = _check_first(conn, sent.body, team_id)
    check_form(sent, team_faults(sent.body))
    values = {**_columns(sent.body, TEAM.by_admins), **password_column(password)}
    store_change(conn, TEAM, present, values, answers)
    return show_team(conn, team_id, everyone=True)


def edit_own_team(
    conn: Connection, competition: Competition, captain: Player, sent: Sent[OwnTeamBody], password: NewPassword
) -> TeamRecord:
    """Change a team as its captain wants and return the record.

    Raises ``Refused`` for anybody else, ``Invalid`` with the first of bracket, captain, e-mail, fields, name and
    confirmation that breaks a rule, else with all faults of form. An administrator is asked for no confirmation.
    """
    present = account_to_change(conn, TEAM, own_team_id(conn, captain.id))
    if present.captain_id != captain.id:
        raise Refused({"": ["Only team captains can edit team information"]})
    values = _columns(sent.body, TEAM.own)
    if captain.is_admin:
        answers = _check_first(conn, sent.body, present.id)
        values |= password_column(password)
    else:
        answers = _check_own_first(conn, competition, present, sent.body)
        if values.get("captain_id", present.captain_id) is None:
            del values["captain_id"]  # captaincy is handed on, never dropped
        values |= _own_password(conn, present, captain, sent.body, password)
    check_form(sent, team_faults(sent.body))
    store_change(conn, TEAM, present, values, answers)
    return show_team(conn, present.id, everyone=True)


def own_team_id(conn: Connection, user_id: int) -> int:
    """Return the team that a user is in at this moment of the transaction; raises ``NotFound`` without one."""
    team_id = conn.scalar(select(users.c.team_id).where(users.c.id == user_id))
    if team_id is None:
        raise NotFound
    return int(team_id)


def confirming_passwords(conn: Connection, captain_id: int) -> tuple[str, ...]:
    """Return the stored hashes that may confirm a change of the team's password: the team's and the captain's own."""
    both = select(teams.c.password, users.c.password).join(teams, teams.c.id == users.c.team_id)
    row = conn.execute(both.where(users.c.id == captain_id)).first()
    return () if row is None else tuple(stored for stored in row if stored is not None)


def _check_first(conn: Connection, body: GroupBody, team_id: int | None) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for an administrator."""
    if body.bracket_id is not UNSET:
        check_bracket(conn, body.bracket_id, None)
    _check_captain(conn, body, team_id, "Invalid Captain ID")
    check_email(conn, TEAM, body, team_id)
    answers = field_values(body)
    check_answers(conn, "team", answers)
    check_name(conn, TEAM, body, team_id)
    return answers


def _check_own_first(
    conn: Connection, competition: Competition, present: Row[Any], body: OwnTeamBody
) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for a captain."""
    if body.bracket_id is not UNSET:
        check_own_bracket(conn, body.bracket_id, present.bracket_id, "teams")
    _check_captain(conn, body, present.id, "Only team members can be promoted to captain")
    check_email(conn, TEAM, body, present.id)
    answers = field_values(body)
    check_own_answers(conn, "team", present.id, answers)
    check_own_name(conn, competition, TEAM, body, present)
    return answers


def _check_captain(conn: Connection, body: GroupBody, team_id: int | None, message: str) -> None:
    if body.captain_id is UNSET or body.captain_id is None:
        return
    if team_id is None or body.captain_id not in member_ids(conn, team_id):
        raise Invalid(captain_id=[message])


def _own_password(
    conn: Connection, present: Row[Any], captain: Player, body: OwnTeamBody, password: NewPassword
) -> Mapping[str, str]:
    """Return the new password hash of a team as a column, nothing where none was sent."""
    if not body.password:
        return {}
    if present.password is not None:
        if not body.confirm:
            raise Invalid(confirm=[rules.CONFIRM])
        if password.fits is None or password.fits not in confirming_passwords(conn, captain.id):
            raise Invalid(confirm=[rules.NOT_CONFIRMED])
    return password_column(password)


def _columns(body: GroupBody, writable: tuple[str, ...]) -> dict[str, Any]:
    values = columns(body, writable)
    # A second team without an address must not meet the unique constraint.
    return {key: (value or None) if key == "email" else value for key, value in values.items()}
