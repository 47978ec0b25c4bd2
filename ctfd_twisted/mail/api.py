"""``POST /api/v1/users/<id>/email``: an administrator writes to a user, and waits for what the server says."""

from __future__ import annotations

from typing import Final

import msgspec

from ctfd_twisted.accounts.profiles import show_user
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.rules import Letter, route_of
from ctfd_twisted.mail.sender import NotSentError, Sender
from ctfd_twisted.settings import MailServer

#: Seconds for the connection and then for each reply, while an administrator waits (config-keys.md, Mail).
WAITED_FOR: Final = 3.0
NOT_CONFIGURED: Final = "Email settings not configured"


class Text(msgspec.Struct, frozen=True):
    """What is written."""

    text: str = ""


class MailApi:
    """Mail to one user, sent at once."""

    routes = Routes()

    def __init__(self, db: Database, postman: Sender, server: MailServer | None) -> None:
        self._db = db
        self._postman = postman
        self._server = server

    @routes.post("/api/v1/users/<int:user_id>/email", ADMIN, limit=(10, 60))
    async def email_user(self, call: Call, user_id: int) -> Answer:
        """Send a text to a user."""
        user = await self._db.read(show_user, user_id, everyone=True)
        route = route_of(call.competition, self._server)
        if route is None:
            raise Invalid({"": [NOT_CONFIGURED]})
        text = call.body(Text).text
        if not text.strip():
            raise Invalid(text=["Email text cannot be empty"])
        name = call.competition.name
        letter = Letter(user.email or "", f"Message from {name}", text)
        try:
            await self._postman.send(route, name, letter, patience=WAITED_FOR)
        except NotSentError as error:
            raise Invalid({"": [str(error)]}) from error
        return done()
