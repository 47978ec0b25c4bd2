"""What stands in the bars at the top, and for whom."""

from __future__ import annotations

from typing import Final

import msgspec

from ctfd_twisted.content.public_pages import PublicPages
from ctfd_twisted.http.call import Call


class Item(msgspec.Struct, frozen=True):
    """One entry: text, address below the root (or elsewhere), and whether it opens a tab of its own."""

    text: str
    path: str
    new_tab: bool = False
    elsewhere: bool = False

    def is_current(self, here: str) -> bool:
        """Whether *here* (a path below the root) is this entry's page or one below it."""
        return here == self.path or here.startswith(self.path + "/")


ADMIN_MENU: Final = (
    Item("Statistics", "/admin/statistics"),
    Item("Hills", "/admin/koth"),
    Item("Webhooks", "/admin/webhooks"),
    Item("Settings", "/admin/config"),
    Item("Backup", "/admin/backup"),
)


def main_menu(call: Call, pages: PublicPages) -> tuple[Item, ...]:
    """The entries for the one who calls: custom pages, then accounts, the board, the challenges; none before setup."""
    competition = call.competition
    if not competition.is_set_up:
        return ()
    items = [
        Item(page.title or page.route, page.route, page.link_target == "_blank", elsewhere=True)
        if page.is_link
        else Item(page.title or page.route, f"/{page.route}", page.link_target == "_blank")
        for page in pages.menu
    ]
    if competition.account_visibility != "admins" or call.is_admin:
        items.append(Item("Users", "/users"))
        if competition.teams:
            items.append(Item("Teams", "/teams"))
        if competition.score_visibility != "admins" or call.is_admin:
            items.append(Item("Scoreboard", "/scoreboard"))
    items.append(Item("Challenges", "/challenges"))
    return tuple(items)
