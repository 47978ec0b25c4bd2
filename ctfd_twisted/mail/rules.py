"""By which way mail leaves (config-keys.md, Mail) and when it is tried again; pure."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.settings import DEFAULT_SENDER, MailServer

#: How long to wait after each failed attempt; after the last the mail is given up.
_WAITS: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720))


class Smtp(msgspec.Struct, frozen=True):
    """An SMTP server; ``tls`` is STARTTLS, ``ssl`` is TLS from the first byte. Without a user name nobody signs in."""

    host: str
    port: int
    sender: str
    username: str | None = None
    password: str | None = None
    tls: bool = False
    ssl: bool = False

    def __repr__(self) -> str:
        return f"Smtp(host={self.host!r}, port={self.port!r})"


class Mailgun(msgspec.Struct, frozen=True):
    """Mailgun's HTTP interface."""

    base_url: str
    api_key: str
    sender: str

    def __repr__(self) -> str:
        return f"Mailgun(base_url={self.base_url!r})"


Route = Smtp | Mailgun


class Letter(msgspec.Struct, frozen=True):
    """One mail in plain text."""

    recipient: str
    subject: str
    body: str

    def __repr__(self) -> str:
        return f"Letter(recipient={self.recipient!r}, subject={self.subject!r})"


class MailStep(msgspec.Struct, frozen=True):
    """One step, and the milliseconds since the beginning at which it ended.

    Over SMTP: compose, resolve, connect, tls, greeting, ehlo, starttls, auth, mail, rcpt, data, message; those that the
    settings do not ask for are missing. By Mailgun: compose, request.
    """

    step: str
    ok: bool
    detail: str
    ms: int


def route_of(competition: Competition, server: MailServer | None) -> Route | None:
    """Return the way that mail takes, ``None`` where none is possible.

    Once ``mail_server`` is set in the database its settings are taken whole: were they completed from the deployment's
    *server*, an administrator could have its password sent to a host of their own.
    """
    host, port = competition.text("mail_server"), competition.integer("mail_port", 0)
    sender = competition.text("mailfrom_addr")
    if host and port:
        auth = competition.truthy("mail_useauth")
        return Smtp(
            host,
            port,
            sender or DEFAULT_SENDER,
            competition.text("mail_username") if auth else None,
            competition.text("mail_password") if auth else None,
            tls=competition.truthy("mail_tls"),
            ssl=competition.truthy("mail_ssl"),
        )
    base_url, api_key = competition.text("mailgun_base_url"), competition.text("mailgun_api_key")
    if base_url and api_key:
        return Mailgun(base_url, api_key, sender or DEFAULT_SENDER)
    if host or server is None:
        return None
    return Smtp(
        server.host,
        server.port,
        sender or server.from_address,
        server.username,
        server.password,
        tls=server.tls,
        ssl=server.ssl,
    )


def wait_after(attempts: int) -> timedelta | None:
    """Return how long to wait after so many failed *attempts*; ``None`` where the mail is given up."""
    return _WAITS[attempts - 1] if attempts <= len(_WAITS) else None
