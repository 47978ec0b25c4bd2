"""All handlers of accounts, for the one place where the platform is put together."""

from __future__ import annotations

from ctfd_twisted.accounts.audiences_api import AudiencesApi
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.brackets_api import BracketsApi
from ctfd_twisted.accounts.confirm_page import ConfirmPage
from ctfd_twisted.accounts.fields_api import FieldsApi
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.integrations_page import IntegrationsPage
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.me_api import MeApi
from ctfd_twisted.accounts.oauth_client import OAuthClient
from ctfd_twisted.accounts.oauth_pages import OAuthPages
from ctfd_twisted.accounts.own_team_api import OwnTeamApi
from ctfd_twisted.accounts.reading import Passwords
from ctfd_twisted.accounts.register_page import RegisterPage
from ctfd_twisted.accounts.rendering import Renderer
from ctfd_twisted.accounts.reset_pages import ResetPages
from ctfd_twisted.accounts.setup_page import KeepPictures, SetupPage
from ctfd_twisted.accounts.sign_in_pages import SignInPages
from ctfd_twisted.accounts.team_pages import TeamPages
from ctfd_twisted.accounts.teams_api import TeamsApi
from ctfd_twisted.accounts.tokens_api import TokensApi
from ctfd_twisted.accounts.users_api import UsersApi
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.mail.post import Post
from ctfd_twisted.scoring.live_board import BoardKeeper
from ctfd_twisted.settings import Settings


def account_handlers(
    db: Database,
    pages: Renderer,
    hasher: Hasher,
    keys: Keys,
    post: Post,
    client: OAuthClient,
    settings: Settings,
    board: BoardKeeper,
    keep: KeepPictures,
) -> list[HasRoutes]:
    """Every class of routes about users, teams, tokens, groups and fields, and the forms that lead to them."""
    passwords = Passwords(hasher, keys)
    boards = Boards(board)
    return [
        SetupPage(db, pages, hasher, keys, keep),
        SignInPages(db, pages, hasher, keys, settings.preset_admin),
        OAuthPages(db, keys, client, settings.oauth),
        IntegrationsPage(db, pages, keys),
        RegisterPage(db, pages, hasher, keys, post),
        ResetPages(db, pages, hasher, keys, post),
        ConfirmPage(db, pages, keys, post, button=settings.confirmation_button),
        TeamPages(db, pages, hasher, keys),
        MeApi(db, passwords, boards),
        UsersApi(db, passwords, boards, post),
        OwnTeamApi(db, passwords, boards, keys),
        TeamsApi(db, passwords, boards, keys),
        TokensApi(db),
        BracketsApi(db),
        AudiencesApi(db),
        FieldsApi(db),
    ]
