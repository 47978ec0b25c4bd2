"""All handlers of pages, for the one place where the platform is put together."""

from __future__ import annotations

from collections.abc import Sequence

from ctfd_twisted.content.public_pages import PublicPages
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.scoring.live_board import BoardKeeper
from ctfd_twisted.web.account_lists import AccountLists
from ctfd_twisted.web.admin_config import AdminConfigPages
from ctfd_twisted.web.admin_hills import AdminHillPages
from ctfd_twisted.web.admin_overview import AdminOverviewPages
from ctfd_twisted.web.admin_webhooks import AdminWebhookPages
from ctfd_twisted.web.api_answers import ApiAnswers
from ctfd_twisted.web.assets_pages import AssetPages
from ctfd_twisted.web.assets_store import Assets
from ctfd_twisted.web.challenge_pages import ChallengePages
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.profile_pages import ProfilePages
from ctfd_twisted.web.public_pages import CustomPages
from ctfd_twisted.web.scoreboard_pages import ScoreboardPages
from ctfd_twisted.web.settings_pages import SettingsPages


def page_handlers(
    db: Database,
    pages: Pages,
    assets: Assets,
    public_pages: Snapshot[PublicPages],
    apis: Sequence[HasRoutes],
    board: BoardKeeper,
) -> tuple[CustomPages, list[HasRoutes]]:
    """The handler of custom pages, whose ``fallback`` takes what no route has, and every class of page routes.

    *apis* are the handlers of the REST API, whose answers some pages draw.
    """
    custom = CustomPages(db, public_pages, pages)
    return custom, [
        custom,
        AssetPages(assets),
        AccountLists(db, pages),
        ProfilePages(db, pages, board),
        ScoreboardPages(db, pages, board),
        ChallengePages(db, pages, ApiAnswers(apis)),
        SettingsPages(db, pages),
        AdminOverviewPages(db, pages),
        AdminConfigPages(db, pages),
        AdminHillPages(db, pages),
        AdminWebhookPages(db, pages),
    ]
