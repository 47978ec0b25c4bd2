"""Which tables and columns say "account" in each mode: the team where teams play, else the user."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Column, ColumnElement, Table, and_

from ctfd_twisted.accounts.tables import teams, users


class AccountKind(msgspec.Struct, frozen=True):
    """One kind of account, and how other rows name it; ``word`` is singular."""

    word: Literal["user", "team"]
    table: Table
    column: str

    def of(self, table: Table) -> Column[Any]:
        """The column of *table* that names the account: of solves, submissions, awards and unlocks."""
        return table.c[self.column]

    @property
    def listed(self) -> ColumnElement[bool]:
        """That the account is neither hidden nor banned; where old data does not say, it is not listed."""
        return and_(self.table.c.hidden.is_(False), self.table.c.banned.is_(False))


USERS: Final = AccountKind("user", users, "user_id")
TEAMS: Final = AccountKind("team", teams, "team_id")


def account_kind(*, teams_mode: bool) -> AccountKind:
    """Who scores in this mode."""
    return TEAMS if teams_mode else USERS
