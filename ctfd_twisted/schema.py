"""Every table there is: importing this module fills ``metadata``."""

from __future__ import annotations

from .accounts import sessions_tables, tables as accounts
from .challenges import tables as challenges
from .competition import tables as competition
from .content import tables as content
from .db import tables as db
from .db.metadata import metadata
from .koth import tables as koth
from .mail import tables as mail
from .scoring import tables as scoring
from .webhooks import tables as webhooks

__all__ = ["accounts", "challenges", "competition", "content", "db", "koth", "mail", "metadata", "scoring", "sessions_tables", "webhooks"]
