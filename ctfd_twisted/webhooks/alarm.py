"""Telling the admins that an endpoint was disabled: they are owed a mail in the transaction that disables it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.mail.rules import route_of
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.store import SealedLetter, enqueue
from ctfd_twisted.settings import MailServer

_TEXT: Final = (
    "The webhook {url} is disabled and gets no more events. {reason}\n\n"
    "What it is owed is kept. When the receiver works again, validate the endpoint under Admin > Webhooks, and it is "
    "sent. What was given up by then is sent again from there too.\n"
)


class MailAlarm:
    """Writes to every administrator who has an address and may sign in, where mail can be sent at all."""

    def __init__(self, sealer: Sealer, server: MailServer | None) -> None:
        self._sealer = sealer
        self._server = server

    def __call__(self, conn: Connection, now: datetime, url: str, reason: str) -> None:
        """Owe the letters; commits nothing."""
        competition = read_competition(conn)
        if route_of(competition, self._server) is None:
            return
        body = self._sealer.seal(_TEXT.format(url=url, reason=reason))
        admins = select(users.c.email).where(
            users.c.type == "admin", users.c.banned.isnot(True), users.c.email.isnot(None), users.c.email != ""
        )
        for recipient in conn.execute(admins.order_by(users.c.id)).scalars().all():
            enqueue(conn, now, SealedLetter(recipient, f"A webhook of {competition.name} is disabled", body))
