"""Users: created and changed by administrators, and by themselves (api/users.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET
from sqlalchemy import Connection, Row, select

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.bodies import (
    FieldValue,
    NewPassword,
    OwnUserBody,
    PersonBody,
    Sent,
    UserBody,
    check_form,
    field_values,
    user_faults,
)
from ctfd_twisted.accounts.brackets import check_bracket, check_own_bracket
from ctfd_twisted.accounts.editing import (
    USER,
    account_to_change,
    check_email,
    check_name,
    check_own_name,
    columns,
    password_column,
    store_change,
)
from ctfd_twisted.accounts.fields import check_answers, check_own_answers, store_answers
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import insert_user, tell_user_created
from ctfd_twisted.accounts.profiles import show_user
from ctfd_twisted.accounts.records import UserRecord
from ctfd_twisted.accounts.sessions import renew_session
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Invalid
from ctfd_twisted.mail.store import SealedLetter, enqueue


def create_user(
    conn: Connection,
    now: datetime,
    sent: Sent[UserBody],
    password: NewPassword,
    letter: SealedLetter | None = None,
) -> UserRecord:
    """Store a user as an administrator describes them, owe them the *letter*, and return the record.

    Raises ``Invalid`` with the first of bracket, e-mail, fields and name that breaks a rule, else with all faults of
    form; ``NotFound`` for an unknown custom field.
    """
    serialise(conn, "users")
    answers = _check_first(conn, sent.body, None)
    check_form(sent, user_faults(sent.body), required=("name", "password"))
    user_id = insert_user(conn, now, **_by_admin(sent.body), password=password.hashed)
    store_answers(conn, "user", user_id, answers)
    if letter is not None:
        enqueue(conn, now, letter)
    tell_user_created(conn, now, user_id)
    return show_user(conn, user_id, everyone=True)


def edit_user(conn: Connection, actor_id: int, user_id: int, sent: Sent[UserBody], password: NewPassword) -> UserRecord:
    """Change a user as an administrator wants and return the record.

    Raises as ``create_user`` does, ``NotFound`` for an unknown user, and ``Invalid`` where they would ban themselves.
    """
    present = account_to_change(conn, USER, user_id)
    if user_id == actor_id and sent.body.banned is True:
        raise Invalid(id="You cannot ban yourself")
    answers = _check_first(conn, sent.body, user_id)
    check_form(sent, user_faults(sent.body))
    store_change(conn, USER, present, {**_by_admin(sent.body), **password_column(password)}, answers)
    return show_user(conn, user_id, everyone=True)


def edit_own_user(
    conn: Connection,
    now: datetime,
    competition: Competition,
    user_id: int,
    sent: Sent[OwnUserBody],
    password: NewPassword,
    sid: str | None,
) -> UserRecord:
    """Change a user as they want themselves, renew the session *sid* by which they did it, and return the record.

    Raises ``Invalid`` with the first of bracket, e-mail, fields, name and confirmation that breaks a rule, else with
    all faults of form; ``NotFound`` for an unknown custom field. An administrator is asked for no confirmation.
    """
    present = account_to_change(conn, USER, user_id)
    values = columns(sent.body, USER.own)
    if present.type == "admin":
        answers = _check_first(conn, sent.body, user_id)
        values |= password_column(password)
    else:
        answers = _check_own_first(conn, competition, present, sent.body, password)
        values |= _own_password(competition, present, sent.body, password)
        if values.get("email", present.email) != present.email and competition.truthy("verify_emails"):
            values["verified"] = False
    check_form(sent, user_faults(sent.body))
    store_change(conn, USER, present, values, answers)
    if sid is not None:
        renew_session(conn, now, sid, password.mac if "password" in values else None)
    return show_user(conn, user_id, everyone=True)


def stored_password(conn: Connection, user_id: int) -> str | None:
    """Return the stored password hash of a user, to verify a confirmation against."""
    return conn.scalar(select(users.c.password).where(users.c.id == user_id))


def _check_first(conn: Connection, body: PersonBody, user_id: int | None) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for an administrator."""
    if body.bracket_id is not UNSET:
        check_bracket(conn, body.bracket_id, "users")
    check_email(conn, USER, body, user_id)
    answers = field_values(body)
    check_answers(conn, "user", answers)
    check_name(conn, USER, body, user_id)
    return answers


def _check_own_first(
    conn: Connection, competition: Competition, present: Row[Any], body: OwnUserBody, password: NewPassword
) -> tuple[FieldValue, ...]:
    """Judge what is judged before the form of anything, for a player."""
    if body.bracket_id is not UNSET:
        check_own_bracket(conn, body.bracket_id, present.bracket_id, "users")
    if body.email is not UNSET and body.email.strip() != present.email:
        _check_confirmed(present, body, password)
        check_email(conn, USER, body, present.id)
        allowed, denied = competition.text("domain_whitelist"), competition.text("domain_blacklist")
        if rules.domain_refusals(body.email.strip(), allowed, denied):
            raise Invalid(email=["Email address is not from an allowed domain"])
    answers = field_values(body)
    check_own_answers(conn, "user", present.id, answers)
    check_own_name(conn, competition, USER, body, present)
    return answers


def _own_password(
    competition: Competition, present: Row[Any], body: OwnUserBody, password: NewPassword
) -> Mapping[str, str]:
    """Return the new password hash of a player as a column, nothing where none was sent."""
    if not body.password:
        return {}
    if present.password is not None and not body.confirm:
        raise Invalid(confirm=[rules.CONFIRM])
    short = rules.short_password(body.password, competition.integer("password_min_length", 0))
    if short is not None:
        raise Invalid(password=[short])
    if present.password is not None:
        _check_confirmed(present, body, password)
    return password_column(password)


def _check_confirmed(present: Row[Any], body: OwnUserBody, password: NewPassword) -> None:
    if not body.confirm:
        raise Invalid(confirm=[rules.CONFIRM])
    if password.fits is None or password.fits != present.password:
        raise Invalid(confirm=[rules.NOT_CONFIRMED])


def _by_admin(body: UserBody) -> dict[str, Any]:
    """The columns that an administrator writes; a null type is none, since every user has one."""
    return {key: value for key, value in columns(body, USER.by_admins).items() if (key, value) != ("type", None)}
