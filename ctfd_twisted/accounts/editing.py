"""What changing a user and changing a team have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET
from sqlalchemy import Connection, Row, Table, select, update

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.bodies import AccountBody, FieldValue, GroupBody, NewPassword, PersonBody
from ctfd_twisted.accounts.brackets import Members
from ctfd_twisted.accounts.fields import store_answers
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import email_taken, name_taken
from ctfd_twisted.accounts.records import Owner
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.scoring.store import recompute_values

_FLAGS: Final = frozenset({"verified", "hidden", "banned", "change_password"})


class Kind(msgspec.Struct, frozen=True):
    """Users or teams: where they stand, and which columns their people, and administrators, may write."""

    table: Table
    owner: Owner
    members: Members
    name_is_taken: str
    own: tuple[str, ...]
    by_admins: tuple[str, ...]


_PROFILE: Final = ("name", "email", "website", "affiliation", "country", "bracket_id")
_OF_USERS: Final = (*_PROFILE, "language")
_OF_TEAMS: Final = (*_PROFILE, "captain_id")

USER: Final = Kind(
    users,
    "user",
    "users",
    "User name has already been taken",
    _OF_USERS,
    (*_OF_USERS, "type", "secret", "verified", "hidden", "banned", "change_password"),
)
TEAM: Final = Kind(
    teams, "team", "teams", "Team name has already been taken", _OF_TEAMS, (*_OF_TEAMS, "secret", "hidden", "banned")
)


def account_to_change(conn: Connection, kind: Kind, account_id: int) -> Row[Any]:
    """Return the account's row, which nobody else changes until the end of this transaction; raises ``NotFound``.

    Of its *kind* none is renamed meanwhile either.
    """
    serialise(conn, kind.members)
    row = conn.execute(locked(select(kind.table).where(kind.table.c.id == account_id), conn)).first()
    if row is None:
        raise NotFound
    return row


def check_email(conn: Connection, kind: Kind, body: PersonBody | GroupBody, account_id: int | None) -> None:
    """Raise ``Invalid`` where the address in *body* is that of an account other than *account_id*."""
    if body.email and email_taken(conn, kind.table, body.email, account_id):
        raise Invalid(email=[rules.TAKEN_EMAIL])


def check_name(conn: Connection, kind: Kind, body: AccountBody, account_id: int | None) -> None:
    """Raise ``Invalid`` where the name in *body* is that of an account other than *account_id*."""
    if body.name is not UNSET and name_taken(conn, kind.table, body.name, account_id):
        raise Invalid(name=[kind.name_is_taken])


def check_own_name(
    conn: Connection, competition: Competition, kind: Kind, body: AccountBody, present: Row[Any]
) -> None:
    """Raise ``Invalid`` where players may not give the account *present* the name in *body*; its own is no change."""
    # As it is written too: old names may have blanks at their ends.
    if body.name is UNSET or present.name in {body.name, body.name.strip()}:
        return
    if not competition.truthy("name_changes", default=True):
        raise Invalid(name=[rules.NAME_CHANGES_OFF])
    check_name(conn, kind, body, present.id)


def columns(body: AccountBody, writable: tuple[str, ...]) -> dict[str, Any]:
    """Return what *body* says about the *writable* columns; flags are never null."""
    sent = {key: value for key in writable if (value := getattr(body, key)) is not UNSET}
    return {key: bool(value) if key in _FLAGS else value for key, value in sent.items()}


def password_column(password: NewPassword) -> Mapping[str, str]:
    """Return the hash of a new password as a column, nothing where none was sent."""
    return {} if password.hashed is None else {"password": password.hashed}


def store_change(
    conn: Connection, kind: Kind, present: Row[Any], values: Mapping[str, Any], answers: tuple[FieldValue, ...]
) -> None:
    """Write columns and answers of the account *present*; who comes or goes by it moves what challenges are worth."""
    if values:
        conn.execute(update(kind.table).where(kind.table.c.id == present.id).values(**values))
    store_answers(conn, kind.owner, present.id, answers)
    touch(conn, "accounts", "standings", "challenges")
    before = (present.hidden, present.banned)
    if (values.get("hidden", present.hidden), values.get("banned", present.banned)) != before:
        recompute_values(conn)
