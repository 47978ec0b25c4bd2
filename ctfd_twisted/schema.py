"""Every table there is: importing this module fills ``metadata``."""

from __future__ import annotations

from ctfd_twisted.accounts import sessions_tables
from ctfd_twisted.accounts import tables as accounts
from ctfd_twisted.archive import tables as archive
from ctfd_twisted.challenges import tables as challenges
from ctfd_twisted.competition import tables as competition
from ctfd_twisted.content import tables as content
from ctfd_twisted.db import tables as db
from ctfd_twisted.db.metadata import metadata
from ctfd_twisted.files import tables as files
from ctfd_twisted.koth import tables as koth
from ctfd_twisted.mail import tables as mail
from ctfd_twisted.scoring import tables as scoring
from ctfd_twisted.webhooks import tables as webhooks

__all__ = [
    "accounts",
    "archive",
    "challenges",
    "competition",
    "content",
    "db",
    "files",
    "koth",
    "mail",
    "metadata",
    "scoring",
    "sessions_tables",
    "webhooks",
]
