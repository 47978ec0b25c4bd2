"""What the forms of new users and new teams must fulfil, and what they make (accounts-and-sessions.md 7 and 8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.bodies import FieldValue
from ctfd_twisted.accounts.brackets import Members
from ctfd_twisted.accounts.countries import COUNTRIES
from ctfd_twisted.accounts.fields import Field, defined_fields, store_answers
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.membership import IN_A_TEAM, put_in_team
from ctfd_twisted.accounts.newcomers import (
    email_taken,
    insert_team,
    insert_user,
    limit_reached,
    name_taken,
    tell_team_created,
    tell_user_created,
)
from ctfd_twisted.accounts.sessions import Entrance, open_session
from ctfd_twisted.accounts.tables import brackets, teams, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import Forbidden, Invalid
from ctfd_twisted.mail.store import SealedLetter, enqueue

NAME_IS_TAKEN: Final = "That user name is already taken"
NAME_IS_EMAIL: Final = "Your user name cannot be an email address"
EMAIL_IS_TAKEN: Final = "That email has already been used"
EMAIL_IS_NONE: Final = "Please enter a valid email address"
PASSWORD_TOO_SHORT: Final = "Pick a longer password"  # noqa: S105 - a message
PASSWORD_TOO_LONG: Final = "Pick a shorter password"  # noqa: S105 - a message
NAME_TOO_SHORT: Final = "Pick a longer user name"
NAME_TOO_LONG: Final = "Pick a shorter user name"
_REQUIRED: Final = "Please provide all required fields"
_CREATION_OFF: Final = "Team creation is currently disabled. Please join an existing team."


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What both forms ask; every text is trimmed where the page reads it. ``answers`` holds form texts by field id."""

    name: str
    password: str
    website: str = ""
    affiliation: str = ""
    country: str = ""
    bracket_id: str = ""
    answers: Mapping[int, str] = {}


class NewUser(Form, frozen=True, kw_only=True):
    """The registration form; ``email`` is in lower case."""

    email: str
    registration_code: str = ""


def check_room_for_user(conn: Connection, competition: Competition) -> None:
    """Raise ``Forbidden`` where as many users are there as the competition takes."""
    limit = competition.integer("num_users", 0)
    if limit_reached(conn, users, limit):
        raise Forbidden(f"Reached the maximum number of users ({limit}).")


def check_room_for_team(conn: Connection, competition: Competition) -> None:
    """Raise ``Forbidden`` where players may not create teams, or as many are there as the competition takes."""
    if not competition.truthy("team_creation", default=True):
        raise Forbidden(_CREATION_OFF)
    check_number_of_teams(conn, competition)


def check_number_of_teams(conn: Connection, competition: Competition) -> None:
    """Raise ``Forbidden`` where as many teams are there as the competition takes."""
    limit = competition.integer("num_teams", 0)
    if limit_reached(conn, teams, limit):
        raise Forbidden(f"Reached the maximum number of teams ({limit}). Please join an existing team.")


def registration_problems(conn: Connection, competition: Competition, form: NewUser) -> list[str]:
    """Return everything that is wrong with a registration, in the order in which the page lists it."""
    code = competition.text("registration_code")
    allowed, denied = competition.text("domain_whitelist"), competition.text("domain_blacklist")
    problems = ["The registration code you entered was incorrect"] if _differs(form.registration_code, code) else []
    if _unanswered(defined_fields(conn, "user"), form):
        problems.append(_REQUIRED)
    if not valid_email(form.email):
        problems.append(EMAIL_IS_NONE)
    against = rules.domain_refusals(form.email, allowed, denied)
    problems += ["Your email address is not from an allowed domain"] * against
    problems += account_problems(
        conn, form.name, form.email, form.password, competition.integer("password_min_length", 0)
    )
    return problems + _profile_problems(conn, form, "users")


def account_problems(conn: Connection, name: str, email: str, password: str, minimum: int = 0) -> list[str]:
    """Return what is wrong with the name, the password, and whether the e-mail address is taken."""
    short = rules.short_password(password, minimum)
    checks = (
        (name_taken(conn, users, name), NAME_IS_TAKEN),
        (rules.looks_like_email(name), NAME_IS_EMAIL),
        (email_taken(conn, users, email), EMAIL_IS_TAKEN),
        (not password, PASSWORD_TOO_SHORT),
        (short is not None, short or ""),
        (len(password) > rules.PASSWORD_LENGTH, PASSWORD_TOO_LONG),
        (not name, NAME_TOO_SHORT),
        (len(name) > rules.TEXT_LENGTH, NAME_TOO_LONG),
    )
    return [message for fails, message in checks if fails]


def valid_email(email: str) -> bool:
    """Return whether *email* can be registered: well-formed, and short enough to be stored."""
    return rules.looks_like_email(email) and len(email) <= rules.TEXT_LENGTH


def register(
    conn: Connection,
    now: datetime,
    competition: Competition,
    form: NewUser,
    password_hash: str,
    entrance: Entrance,
    letter: SealedLetter | None = None,
) -> int:
    """Store a new user with their answers, sign them in, owe them the *letter*, and return their id.

    Raises ``Forbidden`` where the competition is full and ``Invalid`` with all problems in the general slot.
    """
    serialise(conn, "users")
    check_room_for_user(conn, competition)
    problems = registration_problems(conn, competition, form)
    if problems:
        raise Invalid({"": problems})
    user_id = insert_user(conn, now, **_profile(form), email=form.email, password=password_hash)
    store_answers(conn, "user", user_id, _answers(defined_fields(conn, "user"), form))
    open_session(conn, now, user_id, entrance)
    if letter is not None:
        enqueue(conn, now, letter)
    tell_user_created(conn, now, user_id)
    return user_id


def team_problems(conn: Connection, form: Form, user_id: int) -> list[str]:
    """Return everything that is wrong with a new team, in the order in which the page lists it."""
    checks = (
        (_member(conn, user_id), IN_A_TEAM),
        (name_taken(conn, teams, form.name), "That team name is already taken"),
        (not 1 <= len(form.name) <= rules.TEXT_LENGTH, "That team name is invalid"),
        (_unanswered(defined_fields(conn, "team"), form), _REQUIRED),
    )
    return [message for fails, message in checks if fails] + _profile_problems(conn, form, "teams")


def found_team(
    conn: Connection, now: datetime, competition: Competition, form: Form, password_hash: str, user_id: int
) -> int:
    """Store a new team with its answers and its founder as captain, and return its id.

    The team of an administrator is hidden. Raises ``Forbidden`` where no team may be created and ``Invalid`` with all
    problems in the general slot.
    """
    serialise(conn, "teams")
    check_room_for_team(conn, competition)
    # From here on nobody else puts the founder into a team.
    conn.execute(locked(select(users.c.id).where(users.c.id == user_id), conn))
    problems = team_problems(conn, form, user_id)
    if problems:
        raise Invalid({"": problems})
    by_admin = conn.scalar(select(users.c.type).where(users.c.id == user_id)) == "admin"
    values = {"password": password_hash, "captain_id": user_id, "hidden": by_admin}
    team_id = insert_team(conn, now, **_profile(form), **values)
    store_answers(conn, "team", team_id, _answers(defined_fields(conn, "team"), form))
    put_in_team(conn, user_id, team_id)
    tell_team_created(conn, now, team_id)
    return team_id


def _member(conn: Connection, user_id: int) -> bool:
    return conn.scalar(select(users.c.team_id).where(users.c.id == user_id)) is not None


def _differs(given: str, code: str) -> bool:
    return bool(code) and given.lower() != code.lower()


def _profile_problems(conn: Connection, form: Form, of: Members) -> list[str]:
    checks = (
        (bool(rules.website_faults(form.website)), rules.BAD_WEBSITE),
        (bool(form.country) and form.country not in COUNTRIES, "Invalid country"),
        (len(form.affiliation) >= rules.TEXT_LENGTH, "Please provide a shorter affiliation"),
        (not _bracket_fits(conn, form, of), "Please provide a valid bracket"),
    )
    return [message for fails, message in checks if fails]


def _bracket_fits(conn: Connection, form: Form, of: Members) -> bool:
    known = {str(bracket_id) for bracket_id in conn.scalars(select(brackets.c.id).where(brackets.c.type == of))}
    return form.bracket_id in known or not (form.bracket_id or known)


def _unanswered(fields: tuple[Field, ...], form: Form) -> bool:
    return any(field.required and not form.answers.get(field.id, "").strip() for field in fields)


def _answers(fields: tuple[Field, ...], form: Form) -> list[FieldValue]:
    """Return an answer to every field there is: what was ticked or not, and trimmed text."""
    given = {field.id: form.answers.get(field.id, "").strip() for field in fields}
    return [
        FieldValue(field.id, bool(given[field.id]) if field.field_type == "boolean" else given[field.id])
        for field in fields
    ]


def _profile(form: Form) -> dict[str, object]:
    return {
        "name": form.name,
        "website": form.website or None,
        "affiliation": form.affiliation or None,
        "country": form.country or None,
        "bracket_id": int(form.bracket_id) if form.bracket_id else None,
    }
