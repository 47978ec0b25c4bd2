"""Whether accounts have answered what the competition asks of them, before they may play."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import BracketFilter, Members, list_brackets
from ctfd_twisted.accounts.fields import defined_fields
from ctfd_twisted.accounts.profiles import show_team, show_user
from ctfd_twisted.accounts.records import Entry, Owner


class Asked(msgspec.Struct, frozen=True):
    """What one kind of account must have: answers to these fields, and a bracket where there are any."""

    fields: frozenset[int]
    bracket: bool

    @property
    def nothing(self) -> bool:
        """Whether every account fulfils it."""
        return not (self.fields or self.bracket)

    def fulfilled(self, entries: Iterable[Entry], bracket_id: int | None) -> bool:
        """Whether an account with these answers and this bracket does."""
        answered = {entry.field_id for entry in entries if entry.value not in (None, "")}
        return self.fields <= answered and (bracket_id is not None or not self.bracket)


class AskedOfAll(msgspec.Struct, frozen=True):
    """What users and what teams must have."""

    users: Asked
    teams: Asked


def read_asked(conn: Connection) -> AskedOfAll:
    """What is asked of every account."""
    return AskedOfAll(_asked(conn, "user", "users"), _asked(conn, "team", "teams"))


def user_is_complete(conn: Connection, asked: Asked, user_id: int) -> bool:
    """Whether a user has everything *asked*."""
    user = show_user(conn, user_id, everyone=True)
    return asked.fulfilled(user.fields, user.bracket_id)


def team_is_complete(conn: Connection, asked: Asked, team_id: int) -> bool:
    """Whether a team has everything *asked*."""
    team = show_team(conn, team_id, everyone=True)
    return asked.fulfilled(team.fields, team.bracket_id)


def _asked(conn: Connection, owner: Owner, members: Members) -> Asked:
    required = frozenset(field.id for field in defined_fields(conn, owner) if field.required)
    return Asked(required, bool(list_brackets(conn, BracketFilter(type=members))))
