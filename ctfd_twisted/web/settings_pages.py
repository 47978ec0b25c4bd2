"""The page of one's own settings. What it changes goes through the REST API."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import Bracket, BracketFilter, list_brackets
from ctfd_twisted.accounts.countries import COUNTRIES
from ctfd_twisted.accounts.fields import Field, defined_fields
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import sid_hash
from ctfd_twisted.accounts.profiles import show_user
from ctfd_twisted.accounts.records import UserRecord
from ctfd_twisted.accounts.sessions import OpenSession, name_of, open_sessions
from ctfd_twisted.accounts.tokens import LASTS, Token, list_tokens
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import AUTHED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.languages import LANGUAGE_NAMES
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.requirements import Asked

INCOMPLETE: Final = "Please fill out all required profile fields before continuing"
_UNVERIFIED: Final = "Your email address isn't confirmed. Please check your email to confirm your email address."
_NO_TEAM: Final = "You are not in a team yet. Join or create one to play."


class OwnSettings(msgspec.Struct, frozen=True):
    """Everything that the page shows."""

    me: UserRecord
    fields: tuple[Field, ...]
    brackets: tuple[Bracket, ...]
    tokens: tuple[Token, ...]
    sessions: tuple[OpenSession, ...]

    @property
    def given(self) -> dict[int, Any]:
        """The answers to custom fields, by field."""
        return {entry.field_id: entry.value for entry in self.me.fields}

    @property
    def complete(self) -> bool:
        """Whether all that is required is there."""
        required = frozenset(field.id for field in self.fields if field.required)
        return Asked(required, bool(self.brackets)).fulfilled(self.me.fields, self.me.bracket_id)


def read_own_settings(conn: Connection, now: datetime, player: Player) -> OwnSettings:
    """What the page shows of one user; raises ``NotFound``."""
    return OwnSettings(
        me=show_user(conn, player.id, everyone=True),
        fields=defined_fields(conn, "user"),
        brackets=list_brackets(conn, BracketFilter(type="users")),
        tokens=list_tokens(conn, player.id),
        sessions=open_sessions(conn, now, player.id, player.session_hash),
    )


class SettingsPages:
    """``/settings``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/settings", AUTHED)
    async def settings(self, call: Call) -> Answer:
        """The profile, and the access tokens."""
        player = call.require_player()
        own = await self._db.read(read_own_settings, call.now, player)
        infos = []
        if not (player.is_admin or own.complete):
            infos.append(INCOMPLETE)
        if not (player.verified or player.is_admin) and call.competition.truthy("verify_emails"):
            infos.append(_UNVERIFIED)
        if call.competition.teams and player.team_id is None and not player.is_admin:
            infos.append(_NO_TEAM)
        return self._pages.render(
            call,
            "settings.html",
            infos=infos,
            unverified=_UNVERIFIED in infos,
            me=own.me,
            fields=own.fields,
            given=own.given,
            brackets=own.brackets,
            tokens=own.tokens,
            sessions=own.sessions,
            this_session=None if call.sid is None else name_of(sid_hash(call.sid)),
            countries=sorted(COUNTRIES.items(), key=lambda item: item[1]),
            languages=list(LANGUAGE_NAMES.items()),
            expiration=f"{call.now + LASTS:%Y-%m-%d}",
            now=call.now,
        )
