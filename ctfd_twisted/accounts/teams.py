"""Teams: created and changed by administrators, and by their captains (api/teams.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import UNSET
from sqlalchemy import Connection, Row, select, update

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.bodies import (
    FieldValue,
    NewPassword,
    OwnTeamBody,
    Sent,
    TeamBody,
    check_form,
    field_values,
    team_faults,
)
from ctfd_twisted.accounts.brackets import check_bracket, check_own_bracket
from ctfd_twisted.accounts.fields import check_answers, check_own_answers, store_answers
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import email_taken, insert_team, name_taken, tell_team_created
from ctfd_twisted.accounts.profiles import member_ids, show_team
from ctfd_twisted.accounts.records import TeamRecord
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import Invalid, NotFound, Refused
from ctfd_twisted.scoring.store import recompute_values

TAKEN: Final = "Team name has already been taken"

_CAPTAINS: Final = ("name", "email", "website", "affiliation", "country", "bracket_id", "captain_id")
_ADMINS: Final = (*_CAPTAINS, "secret", "hidden", "banned")
_FLAGS: Final = frozenset({"hidden", "banned"})


def create_team(conn: Connection, now: datetime, sent: Sent[TeamBody], password: NewPassword) -> TeamRecord:
    """Store a team as an administrator describes it and return the record; it has no members yet.

    Raises ``Invalid`` with the first of bracket, captain, e-mail, fields and name that breaks a rule, else with all
    faults of form; ``NotFound`` for an unknown custom field.
    """
    serialise(conn, "teams")
    answers = _check_first(conn, sent.body, None)
    check_form(sent, team_faults(sent.body), required=("name", "password"))
    team_id = insert_team(conn, now, **_columns(sent.body, _ADMINS), password=password.hashed)
    store_answers(conn, "team", team_id, answers)
    tell_team_created(conn, now, team_id)
    return show_team(conn, team_id, everyone=True)


def edit_team(conn: Connection, team_id: int, sent: Sent[TeamBody], password: NewPassword) -> TeamRecord:
    """Change a team as an administrator wants and return the record; raises as ``create_team`` does."""
    serialise(conn, "teams")
    present = _present(conn, team_id)
    answers = _check_first(conn, sent.body, team_id)
    check_form(sent, team_faults(sent.body))
    values = _columns(sent.body, _ADMINS)
    if password.hashed is not None:
        values["password"] = password.hashed
    _store(conn, present, values, answers)
    return show_team(conn, team_id, everyone=True)


def edit_own_team(
    conn: Connection, competition: Competition, captain: Player, sent: Sent[OwnTeamBody], password: NewPassword
) -> TeamRecord:
    """Change a team as its captain wants and return the record.

    Raises ``Refused`` for anybody else, ``Invalid`` with the first of bracket, captain, e-mail, fields, name and
    confirmation that breaks a rule, else with all faults of form. An administrator is asked for no confirmation.
    """
    serialise(conn, "teams")
    present = _present(conn, own_team_id(conn, captain.id))
    if present.captain_id != captain.id:
        raise Refused({"": ["Only team captains can edit team information"]})
    if captain.is_admin:
        answers = _check_first(conn, sent.body, present.id)
        values = _columns(sent.body, _CAPTAINS)
        if password.hashed is not None:
            values["password"] = password.hashed
    else:
        answers = _check_own_first(conn, competition, present, sent.body)
        values = _columns(sent.body, _CAPTAINS)
        if values.get("captain_id", present.captain_id) is None:
            del values["captain_id"]  # captaincy is handed on, never dropped
        values |= _own_password(conn, present, captain, sent.body, password)
    check_form(sent, team_faults(sent.body))
    _store(conn, present, values, answers)
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


def _present(conn: Connection, team_id: int) -> Row[Any]:
    row = conn.execute(locked(select(teams).where(teams.c.id == team_id), conn)).first()
    if row is None:
        raise NotFound
    return row


def _check_first(conn: Connection, body: OwnTeamBody, team_id: int | None) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for an administrator."""
    if body.bracket_id is not UNSET:
        check_bracket(conn, body.bracket_id, None)
    _check_captain(conn, body, team_id, "Invalid Captain ID")
    _check_email(conn, body, team_id)
    answers = field_values(body)
    check_answers(conn, "team", answers)
    if body.name is not UNSET and name_taken(conn, teams, body.name, team_id):
        raise Invalid(name=[TAKEN])
    return answers


def _check_own_first(
    conn: Connection, competition: Competition, present: Row[Any], body: OwnTeamBody
) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for a captain."""
    if body.bracket_id is not UNSET:
        check_own_bracket(conn, body.bracket_id, present.bracket_id, "teams")
    _check_captain(conn, body, present.id, "Only team members can be promoted to captain")
    _check_email(conn, body, present.id)
    answers = field_values(body)
    check_own_answers(conn, "team", present.id, answers)
    if body.name is not UNSET and body.name.strip() != present.name:
        if not competition.truthy("name_changes", default=True):
            raise Invalid(name=[rules.NAME_CHANGES_OFF])
        if name_taken(conn, teams, body.name, present.id):
            raise Invalid(name=[TAKEN])
    return answers


def _check_captain(conn: Connection, body: OwnTeamBody, team_id: int | None, message: str) -> None:
    if body.captain_id is UNSET or body.captain_id is None:
        return
    if team_id is None or body.captain_id not in member_ids(conn, team_id):
        raise Invalid(captain_id=[message])


def _check_email(conn: Connection, body: OwnTeamBody, team_id: int | None) -> None:
    if body.email and email_taken(conn, teams, body.email, team_id):
        raise Invalid(email=[rules.TAKEN_EMAIL])


def _own_password(
    conn: Connection, present: Row[Any], captain: Player, body: OwnTeamBody, password: NewPassword
) -> Mapping[str, str]:
    """Return the new password hash of a team as a column, nothing where none was sent."""
    if not body.password or password.hashed is None:
        return {}
    if present.password is not None:
        if not body.confirm:
            raise Invalid(confirm=[rules.CONFIRM])
        if password.fits is None or password.fits not in confirming_passwords(conn, captain.id):
            raise Invalid(confirm=[rules.NOT_CONFIRMED])
    return {"password": password.hashed}


def _columns(body: OwnTeamBody, writable: tuple[str, ...]) -> dict[str, Any]:
    sent = {key: value for key in writable if (value := getattr(body, key)) is not UNSET}
    if "email" in sent:
        sent["email"] = sent["email"] or None  # a second team without an address must not meet the unique constraint
    return {key: bool(value) if key in _FLAGS else value for key, value in sent.items()}


def _store(conn: Connection, present: Row[Any], values: Mapping[str, Any], answers: tuple[FieldValue, ...]) -> None:
    if values:
        conn.execute(update(teams).where(teams.c.id == present.id).values(**values))
    store_answers(conn, "team", present.id, answers)
    touch(conn, "accounts", "standings", "challenges")
    before = (present.hidden, present.banned)
    if (values.get("hidden", present.hidden), values.get("banned", present.banned)) != before:
        recompute_values(conn)
