"""All handlers of what administrators write, for the one place where the platform is put together."""

from __future__ import annotations

from ctfd_twisted.content.comments_api import CommentsApi
from ctfd_twisted.content.pages_api import PagesApi
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes


def content_handlers(db: Database) -> list[HasRoutes]:
    """Every class of routes about pages and comments."""
    return [PagesApi(db), CommentsApi(db)]
