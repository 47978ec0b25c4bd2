"""All handlers of accounts, for the one place where the platform is put together."""

from __future__ import annotations

from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.brackets_api import BracketsApi
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.me_api import MeApi
from ctfd_twisted.accounts.own_team_api import OwnTeamApi
from ctfd_twisted.accounts.reading import Passwords
from ctfd_twisted.accounts.teams_api import TeamsApi
from ctfd_twisted.accounts.tokens_api import TokensApi
from ctfd_twisted.accounts.users_api import UsersApi
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes


def account_handlers(db: Database, hasher: Hasher, keys: Keys) -> list[HasRoutes]:
    """Every class of routes of this feature."""
    passwords = Passwords(hasher, keys)
    boards = Boards(db, db.bus)
    return [
        BracketsApi(db),
        MeApi(db, passwords, boards),
        OwnTeamApi(db, passwords, boards, keys),
        TeamsApi(db, passwords, boards, keys),
        TokensApi(db),
        UsersApi(db, passwords, boards),
    ]
