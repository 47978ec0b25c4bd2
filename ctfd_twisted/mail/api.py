"""Mail that an administrator sends and waits for: to one user, and to see whether the settings work."""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec

from ctfd_twisted.accounts.profiles import show_user
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Body
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.message import BadAddressError, ascii_address
from ctfd_twisted.mail.rules import Letter, MailStep, Route, Smtp, route_of
from ctfd_twisted.mail.sender import NotSentError, Trier
from ctfd_twisted.settings import MailServer

#: Seconds for the connection and then for each reply, while an administrator waits (config-keys.md, Mail).
WAITED_FOR: Final = 3.0
NOT_CONFIGURED: Final = "Email settings not configured"


class EmailText(msgspec.Struct, frozen=True):
    """What is written."""

    text: str = ""


class TestRecipient(msgspec.Struct, frozen=True):
    """Whom a test is sent to; the one who asks for it where nobody is named."""

    recipient: str | None = None


class MailTest(TypedDict):
    """What became of a test: every step that was taken, of which only the last may have failed.

    ``server`` is where the settings lead, ``error`` the reason of the step that failed.
    """

    sent: bool
    server: str
    recipient: str
    error: str | None
    steps: list[MailStep]


class MailApi:
    """Mail that is sent at once."""

    routes = Routes()

    def __init__(self, db: Database, postman: Trier, server: MailServer | None) -> None:
        self._db = db
        self._postman = postman
        self._server = server

    @routes.post(
        "/api/v1/users/<int:user_id>/email", ADMIN, limit=(10, 60), body=Body(EmailText, optional=True), data=None
    )
    async def email_user(self, call: Call, user_id: int) -> Answer:
        """Send a text to a user. What the mail server said against it is answered as an error."""
        user = await self._db.read(show_user, user_id, everyone=True)
        route = self._route(call)
        text = call.body(EmailText).text
        if not text.strip():
            raise Invalid(text=["Email text cannot be empty"])
        name = call.competition.name
        letter = Letter(user.email or "", f"Message from {name}", text)
        try:
            await self._postman.send(route, name, letter, patience=WAITED_FOR)
        except NotSentError as error:
            raise Invalid({"": [str(error)]}) from error
        return done()

    @routes.post("/api/v1/mail/test", ADMIN, limit=(10, 60), body=TestRecipient, data=MailTest)
    async def test(self, call: Call) -> Answer:
        """Send a test mail and tell each step, and why the last one failed.

        Secrets are in none of it. A mail that was not sent is told with status 200 as well: the test was made.
        """
        route = self._route(call)
        recipient = call.body(TestRecipient).recipient or call.require_player().email or ""
        try:
            ascii_address(recipient)
        except BadAddressError as error:
            raise Invalid(recipient=[str(error)]) from error
        name = call.competition.name
        letter = Letter(
            recipient, f"Test of mail from {name}", f"Whoever reads this knows that {name} can send mail.\n"
        )
        steps = await self._postman.try_out(route, name, letter, patience=WAITED_FOR)
        failed = next((step for step in steps if not step.ok), None)
        made: MailTest = {
            "sent": failed is None,
            "server": f"{route.host}:{route.port}" if isinstance(route, Smtp) else route.base_url,
            "recipient": recipient,
            "error": None if failed is None else failed.detail,
            "steps": list(steps),
        }
        return ok(made)

    def _route(self, call: Call) -> Route:
        route = route_of(call.competition, self._server)
        if route is None:
            raise Invalid({"": [NOT_CONFIGURED]})
        return route
